import { integerFrom, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { Philox } from '@cudnn-rnn/ops/executor'
import { inBlocks } from './block_stage.js'
import { permuted } from './shuffle_stage.js'
import type { Source } from './source.js'

/** Rules of {@link BucketOptions}, but for the length. */
export const BUCKET_OPTIONS = {
  /** B, elements of a batch. */
  batchSize: integerFrom(1),
  /** Elements that are sorted among themselves; default 100 batches. */
  poolSize: optional(integerFrom(1)),
  /** Order of the batches of a pool; default 0. */
  seed: optional(integerFrom(0)),
}

/** Options of `bucketByLength`. */
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
