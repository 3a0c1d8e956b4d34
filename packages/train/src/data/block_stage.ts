import { checkedElsewhere, fields, integerFrom } from '@cudnn-rnn/canonical/rules'
import { describe, type Position, type Source, savedPosition } from './source.js'

const SAVED = fields({ before: checkedElsewhere<Position>(), number: integerFrom(0), yielded: integerFrom(0) })

/**
 * Reads `size` elements, lets `arrange` make a list of them, and yields that list. A position is the one before the
 * block and how much of its list was yielded: going back reads one block again and nothing else need be saved.
 *
 * @param arrangement names what `arrange` does, for the description of the source
 * @param arrange must give the same list for the same block, block number and epoch.
 */
export function inBlocks<T, U>(
  source: Source<T>,
  size: number,
  arrangement: string,
  arrange: (block: readonly T[], number: number, epoch: number) => readonly U[],
): Source<U> {
  return {
    open(position, epoch) {
      const saved = savedPosition(position, SAVED)
      let before: Position = saved?.before ?? null
      let number = saved?.number ?? 0
      let yielded = saved?.yielded ?? 0
      const upstream = source.open(before ?? undefined, epoch)
      let list: readonly U[] | undefined
      let after: Position = before
      const read = async () => {
        const block: T[] = []
        while (block.length < size) {
          const item = await upstream.next()
          if (item === undefined) break
          block.push(item.value)
          after = item.position
        }
        return block
      }
      return {
        async next() {
          for (;;) {
            if (list === undefined) {
              const block = await read()
              if (block.length === 0) return undefined
              list = arrange(block, number, epoch)
            }
            if (yielded < list.length) {
              const value = list[yielded++] as U
              return { value, position: { before, number, yielded } }
            }
            list = undefined
            before = after
            number++
            yielded = 0
          }
        },
        close: () => upstream.close(),
      }
    },
    describe: () => `${describe(source)}, ${arrangement}`,
  }
}
