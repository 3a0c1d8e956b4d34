import { checkedElsewhere, fields, integerFrom } from '@cudnn-rnn/canonical/rules'
import { type Cursor, describe, type Position, type Source, savedPosition } from './source.js'

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
