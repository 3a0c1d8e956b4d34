import { codedRangeError, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { arraySource } from './array_source.js'
import { batched } from './batch_stage.js'
import { type BucketOptions, bucketedByLength } from './bucket_stage.js'
import { mapped } from './map_stage.js'
import { type PaddedSequences, padSequences } from './pad_sequences.js'
import { prefetched } from './prefetch_stage.js'
import { repeated } from './repeat_stage.js'
import { shuffled } from './shuffle_stage.js'
import { type Cursor, countedSource, type Position, type Source } from './source.js'

/**
 * A lazy, resumable pipeline: `for await` reads it from the start, {@link Dataset.iterate} also from a saved position.
 * Every method returns a new dataset. Options that count must be integers >= 1: RangeError `ERR_INVALID_OPTION`.
 */
export class Dataset<T> implements AsyncIterable<T> {
  readonly #source: Source<T>

  constructor(source: Source<T>) {
    this.#source = source
  }

  static fromArray<T>(array: readonly T[]): Dataset<T> {
    return new Dataset(arraySource(array))
  }

  /** @param read called once per pass; must yield the same elements each time. */
  static from<T>(read: () => AsyncIterable<T> | Iterable<T>): Dataset<T> {
    return new Dataset(countedSource(read))
  }

  /** `transform` may be asynchronous; up to `concurrency` (default 1) run at a time, the order stays. */
  map<U>(transform: (value: T) => U | Promise<U>, { concurrency = 1 } = {}): Dataset<U> {
    return new Dataset(mapped(this.#source, transform, checkCount('concurrency', concurrency)))
  }

  /** Random order within blocks of `bufferSize`; another one in each epoch when `repeat` follows. */
  shuffle({ bufferSize, seed = 0 }: { readonly bufferSize: number; readonly seed?: number }): Dataset<T> {
    return new Dataset(shuffled(this.#source, checkCount('bufferSize', bufferSize), seed))
  }

  /** `count` passes, endless by default. */
  repeat(count = Number.POSITIVE_INFINITY): Dataset<T> {
    if (count !== Number.POSITIVE_INFINITY) checkCount('count', count)
    return new Dataset(repeated(this.#source, count))
  }

  batch(size: number, { dropRemainder = false } = {}): Dataset<readonly T[]> {
    return new Dataset(batched(this.#source, checkCount('size', size), dropRemainder))
  }

  /** Batches whose sequences [t,…] are joined time-major; `items` are the elements themselves, for labels. */
  paddedBatch<Data extends FloatArray | Int32Array>(
    size: number,
    sequence: (item: T) => Tensor<Data>,
    value = 0,
  ): Dataset<PaddedSequences<Data> & { readonly items: readonly T[] }> {
    return this.batch(size).map((items) => ({ ...padSequences(items.map(sequence), value), items }))
  }

  /** Batches of elements of similar length, so that little is padded. */
  bucketByLength(options: BucketOptions<T>): Dataset<readonly T[]> {
    checkCount('batchSize', options.batchSize)
    if (options.poolSize !== undefined) checkCount('poolSize', options.poolSize)
    return new Dataset(bucketedByLength(this.#source, options))
  }

  /** Reads up to `size` elements ahead, no more. */
  prefetch(size = 2): Dataset<T> {
    return new Dataset(prefetched(this.#source, checkCount('size', size)))
  }

  /** Reads on from `position` (what {@link DatasetIterator.position} was), or from the start. */
  iterate(position?: Position): DatasetIterator<T> {
    return new DatasetIterator(this.#source.open(position ?? undefined, 0), position ?? null)
  }

  [Symbol.asyncIterator](): DatasetIterator<T> {
    return this.iterate()
  }
}

/** One pass over a dataset, which knows where it is. */
export class DatasetIterator<T> implements AsyncIterableIterator<T> {
  readonly #cursor: Cursor<T>
  #position: Position

  constructor(cursor: Cursor<T>, position: Position) {
    this.#cursor = cursor
    this.#position = position
  }

  /** After the last element handed out: plain JSON; null at the start. */
  get position(): Position {
    return this.#position
  }

  async next(): Promise<IteratorResult<T>> {
    const item = await this.#cursor.next()
    if (item === undefined) return { done: true, value: undefined }
    this.#position = item.position
    return { done: false, value: item.value }
  }

  async return(): Promise<IteratorResult<T>> {
    await this.#cursor.close()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

function checkCount(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot build dataset as ${option} must be an integer >= 1: current value is ${value}`,
    { option, value },
  )
}
