import { type ErrorCode, elementCount, hasErrorCode } from '@cudnn-rnn/canonical/rules'
import { maskCrc } from '@cudnn-rnn/checkpoint/files'
import { crc32c } from '../crc32c.js'
import { CheckpointError, corrupt, damaged, unsupported, WRONG_CHECKSUM } from '../errors.js'
import { type ByteSource, checkRange } from '../store/byte_source.js'
import { readTable } from '../table/table_reader.js'
import { type BundleEntry, decodeBundleEntry, decodeBundleHeader, type SliceExtent } from './bundle_messages.js'
import { type CheckpointDType, DTYPES } from './dtype.js'
import { checkEntryRanges } from './entry_ranges.js'
import { IndexedReader } from './indexed_reader.js'
import { sliceKey } from './ordered_code.js'
import { assembleSlices } from './slices.js'
import type { CheckpointTensor } from './tensor.js'
import { decodeElements } from './tensor_bytes.js'
import { decodeName } from './tensor_name.js'

/** The newest bundle format this package reads. */
const CONSUMER_VERSION = 1

/** Opens a file of the bundle; resolves to undefined if the file does not exist. */
type OpenSource = (path: string) => Promise<ByteSource | undefined>

/** Name of a data file of a bundle. */
export function shardPath(prefix: string, shard: number, numShards: number): string {
  const digits = (value: number) => String(value).padStart(5, '0')
  return `${prefix}.data-${digits(shard)}-of-${digits(numShards)}`
}

/**
 * Reads TensorFlow's checkpoint format V2, the TensorBundle: `<prefix>.index`, a sorted table of names and places, and
 * `<prefix>.data-…`, the elements one tensor after another, little-endian and row-major.
 */
export class BundleReader extends IndexedReader<BundleEntry> {
  readonly format = 'v2'
  readonly #open: OpenSource
  readonly #verify: boolean
  readonly #numShards: number
  /** Entries by key; keys of slices are kept as bytes in text form. */
  readonly #entries: ReadonlyMap<string, BundleEntry>
  readonly #shards = new Map<number, Promise<ByteSource>>()

  private constructor(
    prefix: string,
    open: OpenSource,
    verify: boolean,
    numShards: number,
    entries: ReadonlyMap<string, BundleEntry>,
  ) {
    super(prefix, new Map([...entries].filter(([key]) => !key.startsWith('\0'))))
    this.#open = open
    this.#verify = verify
    this.#numShards = numShards
    this.#entries = entries
  }

  /** Reads the index. Throws as {@link readTable}, and `ERR_CHECKPOINT_UNSUPPORTED` for big-endian or newer bundles. */
  static async open(prefix: string, index: ByteSource, open: OpenSource, verify: boolean): Promise<BundleReader> {
    const { numShards, entries } = await readIndex(index)
    return new BundleReader(prefix, open, verify, numShards, entries)
  }

  /** Bytes the tensor takes in the data files. */
  byteLength(name: string): number {
    const entry = this.entry(name)
    const parts = entry.slices.map((slice) => this.#sliceEntry(name, slice))
    return parts.reduce((sum, { size }) => sum + size, entry.size)
  }

  async read(name: string): Promise<CheckpointTensor> {
    const entry = this.entry(name)
    try {
      return await this.#tensor(name, entry)
    } catch (cause) {
      if (!hasErrorCode(cause, ...SIGNS_OF_A_SAVE) || (await this.#isCurrent().catch(() => true))) throw cause
      throw this.#replaced(cause)
    }
  }

  async #tensor(name: string, entry: BundleEntry): Promise<CheckpointTensor> {
    const dtype = this.dtypeOf(name, entry)
    if (entry.slices.length === 0) {
      return { data: await this.#elements(name, dtype, entry), shape: entry.shape, dtype }
    }
    await this.#checkSlices(name, entry)
    const readSlice = (slice: readonly SliceExtent[]) => this.#elements(name, dtype, this.#sliceEntry(name, slice))
    const data = await assembleSlices(name, dtype, entry.shape, entry.slices, readSlice)
    return { data, shape: entry.shape, dtype }
  }

  override async close(): Promise<void> {
    const shards = await Promise.allSettled(this.#shards.values())
    this.#shards.clear()
    for (const shard of shards) if (shard.status === 'fulfilled') await shard.value.close()
  }

  async #elements(name: string, dtype: CheckpointDType, { shard, offset, size, crc, shape }: BundleEntry) {
    const { bytes: elementBytes } = DTYPES[dtype]
    const count = elementCount(shape)
    if (elementBytes > 0 && size !== count * elementBytes) {
      throw this.corrupt(name, `${count} elements of ${dtype} do not take ${size} bytes`)
    }
    const source = await this.#shard(shard)
    const bytes = await source.read(offset, size)
    const { data, checksum } = decodeElements(name, dtype, count, bytes)
    if (this.#verify && maskCrc(checksum ?? crc32c(bytes)) !== crc) {
      throw damaged(`tensor ${name}`, WRONG_CHECKSUM, { path: source.name, tensorName: name })
    }
    return data
  }

  /** Every slice has its own bytes in its file: only then may memory for the whole tensor be requested. */
  async #checkSlices(name: string, { shape, dtypeId, slices }: BundleEntry): Promise<void> {
    const taken = new Map<ByteSource, number>()
    for (const slice of slices) {
      const entry = this.#sliceEntry(name, slice)
      const source = await this.#shard(entry.shard)
      checkRange(source.name, source.size, entry.offset, entry.size)
      const bytes = elementCount(entry.shape) * DTYPES[this.dtypeOf(name, entry)].bytes
      if (bytes !== entry.size) throw this.corrupt(name, 'a slice does not have the size of its shape')
      const lengths = slice.map((extent, axis) => extent?.length ?? shape[axis])
      if (entry.dtypeId !== dtypeId || lengths.join() !== entry.shape.join())
        throw this.corrupt(name, 'a slice has another dtype or shape')
      const total = (taken.get(source) ?? 0) + entry.size
      if (total > source.size) throw this.corrupt(name, 'its slices are larger than their file')
      taken.set(source, total)
    }
  }

  #shard(shard: number): Promise<ByteSource> {
    let source = this.#shards.get(shard)
    if (source === undefined) {
      const path = shardPath(this.prefix, shard, this.#numShards)
      source = this.#open(path).then(async (opened) => {
        if (opened === undefined) {
          const message = 'Cannot read checkpoint as a data file is missing (copy all files of the prefix)'
          throw new CheckpointError('ERR_CHECKPOINT_NOT_FOUND', message, { path })
        }
        // Saves use the names of data files again. If checksums are not compared, the index must show that it is this one.
        if (this.#verify || (await this.#isCurrent())) return opened
        await opened.close()
        throw this.#replaced()
      })
      this.#shards.set(shard, source)
    }
    return source
  }

  /** Whether the index on disk is still the one that was read. */
  async #isCurrent(): Promise<boolean> {
    const index = await this.#open(`${this.prefix}.index`)
    if (index === undefined) return false
    try {
      const { numShards, entries } = await readIndex(index)
      if (numShards !== this.#numShards || entries.size !== this.#entries.size) return false
      for (const [key, { crc, shard, offset }] of entries) {
        const known = this.#entries.get(key)
        if (known?.crc !== crc || known.shard !== shard || known.offset !== offset) return false
      }
      return true
    } finally {
      await index.close()
    }
  }

  #replaced(cause?: unknown): CheckpointError {
    return new CheckpointError(
      'ERR_CHECKPOINT_REPLACED',
      'Cannot read checkpoint as a save replaced or removed it since it was opened (open it again)',
      { path: this.prefix, cause },
    )
  }

  #sliceEntry(name: string, slice: readonly SliceExtent[]): BundleEntry {
    const entry = this.#entries.get(keyText(sliceKey(name, slice)))
    if (entry === undefined) throw this.corrupt(name, 'a slice that it names is missing')
    return entry
  }
}

/** Errors of a read during which a save replaced or removed the files. */
const SIGNS_OF_A_SAVE = [
  'ERR_CHECKPOINT_NOT_FOUND',
  'ERR_CHECKPOINT_CORRUPT',
  'ERR_CHECKPOINT_CHECKSUM',
] as const satisfies readonly ErrorCode[]

/** The contents of an index. Throws as {@link BundleReader.open}. */
async function readIndex(
  index: ByteSource,
): Promise<{ readonly numShards: number; readonly entries: ReadonlyMap<string, BundleEntry> }> {
  const [header, ...rest] = await readTable(index)
  if (header === undefined || header.key.length !== 0) {
    throw corrupt('checkpoint', 'its index has no header', { path: index.name })
  }
  const { numShards, bigEndian, minConsumer } = decodeBundleHeader(header.value)
  const refusal = (rule: string) => unsupported('checkpoint', rule, { path: index.name })
  if (bigEndian) throw refusal('it was written on a big-endian machine')
  if (minConsumer > CONSUMER_VERSION) throw refusal(`it needs a reader of version ${minConsumer}`)
  const entries = new Map(rest.map(({ key, value }) => [keyText(key), decodeBundleEntry(value)]))
  checkEntryRanges(index.name, entries)
  return { numShards, entries }
}

/** Names are UTF-8; keys of slices are bytes, marked by a first byte 0, and keep one character per byte. */
function keyText(key: Uint8Array): string {
  if (key[0] === 0) return Array.from(key, (byte) => String.fromCharCode(byte)).join('')
  return decodeName(key)
}
