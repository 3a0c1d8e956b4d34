import { Philox } from '@cudnn-rnn/executor-kit'
import { inBlocks } from './block_stage.js'
import type { BucketOptions } from './dataset.js'
import { permuted } from './shuffle_stage.js'
import type { Source } from './source.js'

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
