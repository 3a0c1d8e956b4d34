import { describe, type Item, type Source } from './source.js'

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
