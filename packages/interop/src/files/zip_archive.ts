import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { type FileEntry, Reader, Writer, ZipReader } from '@zip.js/zip.js'
import { corrupt, unsupported } from '../errors.js'

/** DEFLATE cannot make more than this out of one byte, so a larger promise is a lie. */
const LARGEST_RATIO = 1032

/** What is packed is held whole; what is stored as it is may be larger. */
const LARGEST_UNPACKED = 2 ** 31

/** A file within a zip archive. */
export interface ArchiveEntry {
  readonly name: string
  readonly size: number
  /** Its whole bytes; their checksum is checked. */
  read(): Promise<Uint8Array>
  /** Its first bytes, `length` of them unless it is shorter. */
  readStart(length: number): Promise<Uint8Array>
}

/**
 * Lists the files of a zip archive; nothing of them is read yet.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, also for an entry that claims to be larger than it can be
 */
export async function openZip(source: ByteSource): Promise<ReadonlyMap<string, ArchiveEntry>> {
  const path = source.name
  const reader = new ZipReader(new SourceReader(source), { useWebWorkers: false, checkSignature: true })
  const entries = await reader.getEntries().catch((cause: unknown) => {
    throw corrupt(path, 'it is no whole zip archive', cause)
  })
  const files = entries.filter((entry): entry is FileEntry => !entry.directory)
  return new Map(files.map((entry) => [entry.filename, archiveEntry(path, entry)]))
}

function archiveEntry(path: string, entry: FileEntry): ArchiveEntry {
  const { filename, uncompressedSize, compressedSize } = entry
  if (uncompressedSize > compressedSize * LARGEST_RATIO) {
    throw corrupt(path, `${filename} cannot be ${uncompressedSize} bytes: ${compressedSize} are stored`)
  }
  if (uncompressedSize > compressedSize && uncompressedSize > LARGEST_UNPACKED) {
    throw unsupported(
      path,
      `a packed file must be of at most ${LARGEST_UNPACKED} bytes: ${filename} has ${uncompressedSize}`,
    )
  }
  return {
    name: filename,
    size: uncompressedSize,
    readStart: async (length) => {
      const start = new StartWriter(Math.min(length, uncompressedSize))
      try {
        await entry.getData(start, { useWebWorkers: false })
      } catch (cause) {
        if (!start.isFull) throw corrupt(path, `${filename} is damaged`, cause)
      }
      return start.getData()
    },
    read: async () => {
      try {
        return await entry.getData(new CappedWriter(uncompressedSize), { useWebWorkers: false, checkSignature: true })
      } catch (cause) {
        throw corrupt(path, `${filename} is damaged`, cause)
      }
    },
  }
}

class SourceReader extends Reader<ByteSource> {
  readonly #source: ByteSource

  constructor(source: ByteSource) {
    super(source)
    this.#source = source
    this.size = source.size
  }

  override async readUint8Array(offset: number, length: number): Promise<Uint8Array> {
    const from = Math.min(offset, this.#source.size)
    return this.#source.read(from, Math.min(length, this.#source.size - from))
  }
}

/** Collects exactly the promised number of bytes. */
class CappedWriter extends Writer<Uint8Array> {
  readonly #bytes: Uint8Array
  #length = 0

  constructor(size: number) {
    super()
    this.#bytes = new Uint8Array(size)
  }

  override async writeUint8Array(chunk: Uint8Array): Promise<void> {
    if (this.#length + chunk.length > this.#bytes.length) throw new RangeError('more bytes than promised')
    this.#bytes.set(chunk, this.#length)
    this.#length += chunk.length
  }

  override async getData(): Promise<Uint8Array> {
    if (this.#length !== this.#bytes.length) throw new RangeError('fewer bytes than promised')
    return this.#bytes
  }
}

/** Collects the first bytes and then stops the reading by an error. */
class StartWriter extends Writer<Uint8Array> {
  readonly #bytes: Uint8Array
  #length = 0

  constructor(size: number) {
    super()
    this.#bytes = new Uint8Array(size)
  }

  get isFull(): boolean {
    return this.#length === this.#bytes.length
  }

  override async writeUint8Array(chunk: Uint8Array): Promise<void> {
    const part = chunk.subarray(0, this.#bytes.length - this.#length)
    this.#bytes.set(part, this.#length)
    this.#length += part.length
    if (this.isFull) throw new RangeError('enough was read')
  }

  override async getData(): Promise<Uint8Array> {
    return this.#bytes
  }
}
