import { checkedElsewhere, fields, integerFrom, optional, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import { Philox } from '@cudnn-rnn/ops/executor'
import { describe, type Position, savedPosition, type Source } from './source.js'

const SAVED = fields({ before: checkedElsewhere<Position>(), number: integerFrom(0), yielded: integerFrom(0) })

/**
 * Reads `size` elements, lets `arrange` make a list of them, and yields that list. A position is the one before the
 * block and how much of its list was yielded: going back reads one block again and nothing else need be saved.
 *
 * @param arrangement names what `arrange` does, for the description of the source
 * @param arrange must give the same list for the same block, block number and epoch.
 */
function inBlocks<T, U>(
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

/**
 * Permutes blocks of `bufferSize` elements (Fisher and Yates); a buffer as large as the source shuffles it evenly. The
 * permutation follows from seed, epoch and block number alone, so a saved position resumes it exactly.
 */
export function shuffled<T>(source: Source<T>, bufferSize: number, seed: number): Source<T> {
  const arrangement = `shuffled in blocks of ${bufferSize} by seed ${seed}`
  return inBlocks(source, bufferSize, arrangement, (block, number, epoch) => {
    const random = new Philox(seed, epoch)
    random.seek(number * bufferSize)
    return permuted(block, random)
  })
}

/** A copy of `values` in random order; draws one number less than it has elements. */
function permuted<T>(values: readonly T[], random: Philox): T[] {
  const result = [...values]
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random.uniform() * (last + 1))
    const moved = result[last] as T
    result[last] = result[other] as T
    result[other] = moved
  }
  return result
}

export const BUCKET_OPTIONS = {
  /** B, elements of a batch. */
  batchSize: integerFrom(1),
  /** Elements that are sorted among themselves; default 100 batches. */
  poolSize: optional(integerFrom(1)),
  /** Order of the batches of a pool; default 0. */
  seed: optional(integerFrom(0)),
}

export interface BucketOptions<T> extends OptionsOf<typeof BUCKET_OPTIONS> {
  /** The length of an element's sequence. */
  readonly length: (value: T) => number
}

/** Batches of elements of similar length: pools are sorted by length, cut into batches, and the batches shuffled. */
export function bucketedByLength<T>(source: Source<T>, options: BucketOptions<T>): Source<readonly T[]> {
  const { length, batchSize, poolSize = 100 * batchSize, seed = 0 } = options
  const arrangement = `batches of ${batchSize} by length from pools of ${poolSize} by seed ${seed}`
  return inBlocks(source, poolSize, arrangement, (pool, number, epoch) => {
    const sorted = pool.toSorted((a, b) => length(a) - length(b))
    const batches: T[][] = []
    for (let from = 0; from < sorted.length; from += batchSize) batches.push(sorted.slice(from, from + batchSize))
    const random = new Philox(seed, epoch)
    random.seek(number * poolSize)
    return permuted(batches, random)
  })
}
