import { type Cursor, describe, type Position, type Source } from './source.js'

/** The source again and again, `count` times; each pass is an epoch. Ends when a pass yields nothing. */
export function repeated<T>(source: Source<T>, count: number): Source<T> {
  return {
    open(position) {
      const saved = position as { epoch: number; within: Position } | undefined
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
