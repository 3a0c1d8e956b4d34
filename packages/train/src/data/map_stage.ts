import { EMPTY_SHARE } from './shard_stage.js'
import { describe, type Item, type Source } from './source.js'

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
