/** The ranks of a job: a `Communicator`, or its numbers. */
export interface World {
  /** In 0..size-1 */
  readonly rank: number
  readonly size: number
}

/**
 * The share of a rank whose batch has fewer elements than there are ranks. `map` passes it on, so that every rank sees the
 * same number of batches and no transform an empty one.
 */
export const EMPTY_SHARE: readonly never[] = Object.freeze([])

/**
 * True for the share of a rank that has no elements of a batch.
 *
 * @example
 * ```ts
 * import { Dataset, isEmptyShare } from '@cudnn-rnn/rnn/train'
 *
 * const share = Dataset.fromArray([7]).batch(1).shard({ rank: 0, size: 2 })
 * for await (const batch of share) console.log(isEmptyShare(batch)) // true
 * ```
 */
export function isEmptyShare(batch: unknown): boolean {
  return Array.isArray(batch) && batch.length === 0
}

export function shareOf<T>(batch: readonly T[], { rank, size }: World): readonly T[] {
  const { length } = batch
  return batch.slice(Math.floor((length * rank) / size), Math.floor((length * (rank + 1)) / size))
}
