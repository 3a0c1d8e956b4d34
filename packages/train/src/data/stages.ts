import { checkedElsewhere, fields, integerFrom } from '@cudnn-rnn/canonical/rules'
import { EMPTY_SHARE } from './shard_stage.js'
import { type Cursor, describe, type Item, type Position, savedPosition, type Source } from './source.js'

/** Applies `transform` to each element, up to `concurrency` at a time; the order stays. */
export function mapped<T, U>(
  source: Source<T>,
  transform: (value: T) => U | Promise<U>,
  concurrency: number,
): Source<U> {
  return {
    open(position, epoch) {
      const upstream = source.open(position, epoch)
      const running: Promise<Item<U>>[] = []
      let ended = false
      return {
        async next() {
          while (!ended && running.length < concurrency) {
            const item = await upstream.next()
            if (item === undefined) ended = true
            else {
              const { value, position } = item
              const isEmpty = (value as unknown) === EMPTY_SHARE
              const result = (async () => ({ value: isEmpty ? (value as never) : await transform(value), position }))()
              // The consumer of the element sees the rejection; an unconsumed one must not end the process.
              result.catch(() => {})
              running.push(result)
            }
          }
          return running.shift()
        },
        close: () => upstream.close(),
      }
    },
    describe: () => describe(source),
  }
}

/** Arrays of `size` consecutive elements; the last may be smaller, or is dropped. */
export function batched<T>(source: Source<T>, size: number, dropRemainder: boolean): Source<readonly T[]> {
  return {
    open(position, epoch) {
      const upstream = source.open(position, epoch)
      return {
        async next() {
          const value: T[] = []
          let position: Position = null
          while (value.length < size) {
            const item = await upstream.next()
            if (item === undefined) break
            value.push(item.value)
            position = item.position
          }
          const isWhole = value.length === size || (value.length > 0 && !dropRemainder)
          return isWhole ? { value, position } : undefined
        },
        close: () => upstream.close(),
      }
    },
    describe: () => `${describe(source)}, batches of ${size}${dropRemainder ? ' without the remainder' : ''}`,
  }
}

/**
 * Reads up to `size` elements ahead while the consumer works. The position follows the element handed out, so elements
 * that were read ahead and not used are read again after a resume.
 */
export function prefetched<T>(source: Source<T>, size: number): Source<T> {
  return {
    open(position, epoch) {
      const upstream = source.open(position, epoch)
      const ready: Promise<Item<T> | undefined>[] = []
      let last: Promise<unknown> = Promise.resolve()
      let ended = false
      // A cursor returns one element at a time, so each request waits for the one before.
      const request = () => {
        const next = last.then(() => (ended ? undefined : upstream.next()))
        next.then(
          (item) => {
            if (item === undefined) ended = true
          },
          () => {
            ended = true
          },
        )
        last = next.catch(() => {})
        ready.push(next)
      }
      return {
        async next() {
          while (ready.length < size + 1) request()
          return ready.shift()
        },
        async close() {
          ended = true
          await upstream.close()
          await last
        },
      }
    },
    describe: () => describe(source),
  }
}

const SAVED = fields({ epoch: integerFrom(0), within: checkedElsewhere<Position>() })

/** The source again and again, `count` times; each pass is an epoch. Ends when a pass yields nothing. */
export function repeated<T>(source: Source<T>, count: number): Source<T> {
  return {
    open(position) {
      const saved = savedPosition(position, SAVED)
      let epoch = saved?.epoch ?? 0
      let upstream: Cursor<T> | undefined = epoch < count ? source.open(saved?.within, epoch) : undefined
      let isEmpty = saved === undefined
      let isOpen = true
      return {
        async next() {
          while (upstream !== undefined) {
            const item = await upstream.next()
            if (item !== undefined) {
              isEmpty = false
              return { value: item.value, position: { epoch, within: item.position } }
            }
            await upstream.close()
            epoch++
            upstream = isOpen && epoch < count && !isEmpty ? source.open(undefined, epoch) : undefined
            isEmpty = true
          }
          return undefined
        },
        async close() {
          isOpen = false
          await upstream?.close()
        },
      }
    },
    describe: () => `${describe(source)}, ${count} times`,
  }
}
