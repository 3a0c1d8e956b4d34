import { describe, type Source } from './source.js'

/** Arrays of `size` consecutive elements; the last may be smaller, or is dropped. */
export function batched<T>(source: Source<T>, size: number, dropRemainder: boolean): Source<readonly T[]> {
  return {
    open(position, epoch) {
      const upstream = source.open(position, epoch)
      return {
        async next() {
          const value: T[] = []
          let item = await upstream.next()
          while (item !== undefined) {
            value.push(item.value)
            if (value.length === size) return { value, position: item.position }
            const following = await upstream.next()
            if (following === undefined && !dropRemainder) return { value, position: item.position }
            item = following
          }
          return undefined
        },
        close: () => upstream.close(),
      }
    },
    describe: () => `${describe(source)}, batches of ${size}${dropRemainder ? ' without the remainder' : ''}`,
  }
}
