import { Philox } from '@cudnn-rnn/ops/executor'
import { inBlocks } from './block_stage.js'
import type { Source } from './source.js'

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
export function permuted<T>(values: readonly T[], random: Philox): T[] {
  const result = [...values]
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random.uniform() * (last + 1))
    const moved = result[last] as T
    result[last] = result[other] as T
    result[other] = moved
  }
  return result
}
