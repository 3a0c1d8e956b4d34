import {
  checkArguments,
  checkOptions,
  fields,
  FLAG,
  FUNCTION,
  integerFrom,
  kind,
  methods,
  NUMBER,
  NUMBERS,
  optional,
  type OptionsOf,
  where,
} from '@cudnn-rnn/canonical/rules'
import { type FloatArray, Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import { batched, mapped, prefetched, repeated } from './stages.js'
import { BUCKET_OPTIONS, bucketedByLength, type BucketOptions, shuffled } from './block_stages.js'
import { type PaddedSequences, padSequences } from './pad_sequences.js'
import { EMPTY_SHARE, isEmptyShare, shareOf, type World } from './shard_stage.js'
import { arraySource, countedSource, type Cursor, describe, type Position, type Source } from './source.js'

const ACTION = 'build dataset'
const COUNT = integerFrom(1)
/** Elements read ahead are all requested at once. */
const MOST_AHEAD = 65_536
const AHEAD = where(COUNT, `an integer in 1..${MOST_AHEAD}`, (size: number) => size <= MOST_AHEAD)
const SEED = integerFrom(0)

const MAP_OPTIONS = {
  /** Transforms that run at a time; default 1. */
  concurrency: optional(COUNT),
}
const SHUFFLE_OPTIONS = {
  /** Elements of a block, which are put in a random order. */
  bufferSize: COUNT,
  /** Default 0. */
  seed: optional(SEED),
}
const BATCH_OPTIONS = {
  /** Leave out a last batch that is not full; default false. */
  dropRemainder: optional(FLAG),
}

export interface MapOptions extends OptionsOf<typeof MAP_OPTIONS> {}

export interface ShuffleOptions extends OptionsOf<typeof SHUFFLE_OPTIONS> {}

export interface BatchOptions extends OptionsOf<typeof BATCH_OPTIONS> {}

const WORLD = fields({ rank: SEED, size: COUNT }, 'a communicator')
const SOURCE = methods('a source: Dataset.fromArray(…) makes a dataset of an array', 'open')
const ARRAY = kind(
  'an array',
  (value): value is ArrayLike<unknown> => Array.isArray(value) || NUMBERS.find(value, '') === undefined,
)

/**
 * A lazy, resumable pipeline: `for await` reads it from the start, {@link Dataset.iterate} also from a saved position.
 * Every method returns a new dataset. Options that count must be integers >= 1: RangeError `ERR_INVALID_OPTION`.
 *
 * @example
 * ```ts
 * import { Dataset } from '@cudnn-rnn/rnn'
 *
 * const data = Dataset.fromArray([1, 2, 3, 4, 5])
 *   .map((x) => 10 * x)
 *   .batch(2)
 * const batches = data.iterate()
 * console.log((await batches.next()).value) // [10, 20]
 * const later = data.iterate(batches.position)
 * console.log((await later.next()).value) // [30, 40]
 * ```
 */
export class Dataset<T> extends Inspectable implements AsyncIterable<T> {
  readonly #source: Source<T>

  /** Throws TypeError `ERR_INVALID_ARGUMENT`. */
  constructor(source: Source<T>) {
    super()
    checkArguments(ACTION, { source }, { source: SOURCE })
    this.#source = source
  }

  static fromArray<T>(array: readonly T[]): Dataset<T> {
    checkArguments(ACTION, { array }, { array: ARRAY })
    return new Dataset(arraySource(array))
  }

  /** @param read called once per pass; must yield the same elements each time. */
  static from<T>(read: () => AsyncIterable<T> | Iterable<T>): Dataset<T> {
    checkArguments(ACTION, { read }, { read: FUNCTION })
    return new Dataset(countedSource(read))
  }

  /** `transform` may be asynchronous; up to `concurrency` (default 1) run at a time, the order stays. */
  map<U>(transform: (value: T) => U | Promise<U>, options: MapOptions = {}): Dataset<U> {
    checkArguments(ACTION, { transform }, { transform: FUNCTION })
    const { concurrency = 1 } = checkOptions(ACTION, options, MAP_OPTIONS)
    return new Dataset(mapped(this.#source, transform, concurrency))
  }

  /** Random order within blocks of `bufferSize`; another one in each epoch when `repeat` follows. */
  shuffle(options: ShuffleOptions): Dataset<T> {
    const { bufferSize, seed = 0 } = checkOptions(ACTION, options, SHUFFLE_OPTIONS)
    return new Dataset(shuffled(this.#source, bufferSize, seed))
  }

  /** `count` passes, endless by default. */
  repeat(count = Number.POSITIVE_INFINITY): Dataset<T> {
    if (count !== Number.POSITIVE_INFINITY) checkArguments(ACTION, { count }, { count: COUNT })
    return new Dataset(repeated(this.#source, count))
  }

  batch(size: number, options: BatchOptions = {}): Dataset<readonly T[]> {
    checkArguments(ACTION, { size }, { size: COUNT })
    const { dropRemainder = false } = checkOptions(ACTION, options, BATCH_OPTIONS)
    return new Dataset(batched(this.#source, size, dropRemainder))
  }

  /** Batches whose sequences [t,…] are joined time-major; `items` are the elements themselves, for labels. */
  paddedBatch<Data extends FloatArray | Int32Array>(
    size: number,
    sequence: (item: T) => Tensor<Data>,
    value = 0,
  ): Dataset<PaddedSequences<Data> & { readonly items: readonly T[] }> {
    checkArguments(ACTION, { sequence, value }, { sequence: FUNCTION, value: NUMBER })
    return this.batch(size).map((items) => ({
      ...padSequences(
        items.map((item) => sequence(item)),
        value,
      ),
      items,
    }))
  }

  /** Batches of elements of similar length, so that little is padded. */
  bucketByLength(options: BucketOptions<T>): Dataset<readonly T[]> {
    const given = checkOptions(ACTION, options, { ...BUCKET_OPTIONS, length: FUNCTION })
    return new Dataset(bucketedByLength(this.#source, given))
  }

  /**
   * The share of one rank of each batch: of L elements those from ⌊L·rank/size⌋ up to ⌊L·(rank+1)/size⌋. Every element belongs to
   * one rank, and every rank sees the same number of batches: a share may be empty, `[]`, and `map` passes that on. Positions
   * count the whole batches, so that another number of ranks can go on from them. Put transforms that cost time
   * after it.
   *
   * @param world a communicator
   * @param split the share of a batch that is not an array, `[]` if it is empty
   */
  shard(world: World, split?: (batch: T, world: World) => T): Dataset<T> {
    checkArguments(ACTION, { world, split }, { world: WORLD, split: optional(FUNCTION) })
    const { rank, size } = world
    const isRank = integerFrom(0)
    checkArguments(ACTION, { rank }, { rank: where(isRank, `an integer in 0..${size - 1}`, (r: number) => r < size) })
    const share = (batch: T) => {
      if (split !== undefined) return split(batch, { rank, size })
      checkArguments('shard a batch', { batch }, { batch: ARRAY })
      return shareOf(batch as readonly unknown[], { rank, size }) as T
    }
    const marked = (batch: T) => {
      const own = share(batch)
      return isEmptyShare(own) ? (EMPTY_SHARE as T) : own
    }
    return new Dataset(mapped(this.#source, marked, 1))
  }

  /** Reads up to `size` elements ahead, no more. */
  prefetch(size = 2): Dataset<T> {
    checkArguments(ACTION, { size }, { size: AHEAD })
    return new Dataset(prefetched(this.#source, size))
  }

  /** Reads from `position` (a value of {@link DatasetIterator.position}), or from the start. */
  iterate(position?: Position): DatasetIterator<T> {
    return new DatasetIterator(this.#source.open(position ?? undefined, 0), position ?? null)
  }

  /**
   * The elements and their order in words, with a fingerprint of arrays and files; ranks of a training must agree in it. A
   * file's size and at most 64 KiB of it are compared, not its path; they are read synchronously.
   *
   * @throws DataError `ERR_DATA_IO` if a file cannot be read
   */
  describe(): string {
    return describe(this.#source)
  }

  [Symbol.asyncIterator](): DatasetIterator<T> {
    return this.iterate()
  }

  protected override summary(): Summary {
    let elements: string | undefined
    try {
      elements = this.describe()
    } catch {
      // A file that cannot be read must not break a print.
    }
    return { kind: 'Dataset', elements }
  }
}

const CURSOR = methods('a cursor, which a source opens', 'next', 'close')

/**
 * One pass over a dataset, with its position.
 *
 * @example
 * ```ts
 * import { Dataset, DatasetIterator } from '@cudnn-rnn/rnn/train'
 *
 * const data = Dataset.fromArray(['a', 'b', 'c'])
 * const letters: DatasetIterator<string> = data.iterate()
 * await letters.next()
 * const position = JSON.parse(JSON.stringify(letters.position)) // as a checkpoint holds it
 * console.log((await data.iterate(position).next()).value) // b
 * ```
 */
export class DatasetIterator<T> implements AsyncIterableIterator<T> {
  readonly #cursor: Cursor<T>
  #position: Position
  /** The calls of `next` before the one that comes: each waits for them. */
  #turn: Promise<unknown> = Promise.resolve()
  #isOpen = true

  constructor(cursor: Cursor<T>, position: Position) {
    checkArguments('iterate', { cursor }, { cursor: CURSOR })
    this.#cursor = cursor
    this.#position = position
  }

  /** The position after the last element that was returned, as plain JSON; null at the start. */
  get position(): Position {
    return this.#position
  }

  next(): Promise<IteratorResult<T>> {
    const turn = this.#turn.then(() => this.#next())
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #next(): Promise<IteratorResult<T>> {
    try {
      const item = this.#isOpen ? await this.#cursor.next() : undefined
      if (item === undefined) return { done: true, value: undefined }
      this.#position = item.position
      return { done: false, value: item.value }
    } catch (error) {
      // `for await` does not return an iterator that fails. The error does not wait for a source that hangs.
      this.return().catch(() => {})
      throw error
    }
  }

  async return(): Promise<IteratorResult<T>> {
    this.#isOpen = false
    await this.#cursor.close()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
