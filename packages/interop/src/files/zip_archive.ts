import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { type Entry, Reader, ZipReader } from '@zip.js/zip.js'
import { corrupt, unsupported } from '../errors.js'
import { crc32 } from './crc32.js'
import { LONGEST_NAME } from './joined_name.js'

/** DEFLATE cannot make more than this out of one byte, so a larger promise is a lie. */
const LARGEST_RATIO = 1032

/** Deflated files are held whole; stored ones may be larger. */
const LARGEST_UNPACKED = 2 ** 31

/** A checkpoint has a file for each tensor; no model has more. */
const MOST_ENTRIES = 2 ** 17

/** Local headers: signature, lengths of name and extra field; the data begin behind those. */
const LOCAL_HEADER_BYTES = 30
const LOCAL_SIGNATURE = 0x04034b50

const METHODS = { stored: 0, deflated: 8 } as const

/** Packed bytes are unpacked in pieces of this size. */
const PIECE = 2 ** 20

/** A file within a zip archive. */
export interface ArchiveEntry {
  readonly name: string
  readonly size: number
  /** Its whole bytes; their checksum is checked. */
  read(): Promise<Uint8Array>
  /** Its first bytes, `length` of them unless it is shorter. */
  readStart(length: number): Promise<Uint8Array>
}

/** The directory entry of a file in an archive. The library's own entries take twenty times the memory. */
interface Place extends Pick<Entry, 'filename' | 'offset' | 'compressedSize' | 'uncompressedSize' | 'encrypted'> {
  readonly compressionMethod: number
  /** CRC-32 of the unpacked bytes. */
  readonly checksum: number
}

/**
 * Lists the files of a zip archive; nothing of them is read yet.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, also for files that overlap, have one name, or claim to be larger than they
 *   can be; `ERR_WEIGHTS_UNSUPPORTED` for a too large file
 */
export async function openZip(source: ByteSource): Promise<ReadonlyMap<string, ArchiveEntry>> {
  const path = source.name
  const places = await placesIn(source)
  checkOverlaps(path, source.size, places)
  const entries = new Map<string, ArchiveEntry>()
  for (const place of places) {
    checkPlace(path, place)
    if (entries.has(place.filename)) throw corrupt(path, `two files in it are called ${place.filename}`)
    entries.set(place.filename, new PackedEntry(source, place))
  }
  return entries
}

async function placesIn(source: ByteSource): Promise<Place[]> {
  const path = source.name
  const places: Place[] = []
  const reader = new ZipReader(new SourceReader(source), { useWebWorkers: false })
  try {
    for await (const entry of reader.getEntriesGenerator()) {
      if (entry.directory) continue
      if (places.length === MOST_ENTRIES) throw unsupported(path, `an archive must hold at most ${MOST_ENTRIES} files`)
      const { filename, offset, compressedSize, uncompressedSize, compressionMethod, encrypted, signature = 0 } = entry
      const checksum = signature >>> 0
      places.push({ filename, offset, compressedSize, uncompressedSize, compressionMethod, encrypted, checksum })
    }
  } catch (cause) {
    throw cause instanceof Error && 'code' in cause ? cause : corrupt(path, 'it is not a complete zip archive', cause)
  }
  return places
}

/** Throws for files that lie in each other: a small archive could unpack the same bytes any number of times. */
function checkOverlaps(path: string, size: number, places: readonly Place[]): void {
  const ordered = places.toSorted((a, b) => a.offset - b.offset)
  for (const [index, { filename, offset, compressedSize }] of ordered.entries()) {
    const end = ordered[index + 1]?.offset ?? size
    if (offset + LOCAL_HEADER_BYTES + compressedSize > end) {
      throw corrupt(path, `${filename} at ${offset} with ${compressedSize} bytes must end before ${end}`)
    }
  }
}

function checkPlace(path: string, { filename, uncompressedSize, compressedSize, compressionMethod }: Place): void {
  if (filename.length > LONGEST_NAME) throw corrupt(path, `a name in it has ${filename.length} characters`)
  const most = compressionMethod === METHODS.stored ? compressedSize : compressedSize * LARGEST_RATIO
  if (uncompressedSize > most) {
    throw corrupt(path, `${filename} cannot be ${uncompressedSize} bytes: ${compressedSize} are stored`)
  }
  if (uncompressedSize > compressedSize && uncompressedSize > LARGEST_UNPACKED) {
    throw unsupported(
      path,
      `a packed file must be of at most ${LARGEST_UNPACKED} bytes: ${filename} has ${uncompressedSize}`,
    )
  }
}

class PackedEntry implements ArchiveEntry {
  readonly #source: ByteSource
  readonly #place: Place

  constructor(source: ByteSource, place: Place) {
    this.#source = source
    this.#place = place
  }

  get name(): string {
    return this.#place.filename
  }

  get size(): number {
    return this.#place.uncompressedSize
  }

  async read(): Promise<Uint8Array> {
    const bytes = await this.#unpacked(this.size)
    const { filename, checksum } = this.#place
    if (crc32(bytes) === checksum) return bytes
    throw corrupt(this.#source.name, `${filename} is damaged: its checksum is wrong`)
  }

  readStart(length: number): Promise<Uint8Array> {
    return this.#unpacked(Math.min(length, this.size))
  }

  /** The first `length` bytes; all of the file must not be more than its size. */
  async #unpacked(length: number): Promise<Uint8Array> {
    const { filename, compressionMethod, encrypted, compressedSize } = this.#place
    const path = this.#source.name
    if (encrypted) throw unsupported(path, `files must not be encrypted: ${filename} is`)
    const start = await this.#dataStart()
    if (compressionMethod === METHODS.stored) return this.#source.read(start, length)
    if (compressionMethod !== METHODS.deflated) {
      throw unsupported(path, `files must be stored or deflated: ${filename} has method ${compressionMethod}`)
    }
    try {
      return await inflated(this.#pieces(start, compressedSize), length, length === this.size)
    } catch (cause) {
      throw cause instanceof Error && 'code' in cause && String(cause.code).startsWith('ERR_CHECKPOINT')
        ? cause
        : corrupt(path, `${filename} is damaged`, cause)
    }
  }

  async #dataStart(): Promise<number> {
    const { filename, offset } = this.#place
    const header = await this.#source.read(offset, LOCAL_HEADER_BYTES)
    const view = new DataView(header.buffer, header.byteOffset, header.byteLength)
    if (view.getUint32(0, true) === LOCAL_SIGNATURE) {
      return offset + LOCAL_HEADER_BYTES + view.getUint16(26, true) + view.getUint16(28, true)
    }
    throw corrupt(this.#source.name, `${filename} is not where the directory says`)
  }

  #pieces(start: number, length: number): ReadableStream<BufferSource> {
    let done = 0
    return new ReadableStream({
      pull: async (controller) => {
        if (done === length) {
          controller.close()
          return
        }
        const piece = await this.#source.read(start + done, Math.min(PIECE, length - done))
        done += piece.length
        controller.enqueue(piece as Uint8Array<ArrayBuffer>)
      },
    })
  }
}

/**
 * The first `length` unpacked bytes of `pieces`.
 *
 * @param isAll whether there must not be more.
 */
async function inflated(pieces: ReadableStream<BufferSource>, length: number, isAll: boolean): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  const reader = pieces.pipeThrough(new DecompressionStream('deflate-raw')).getReader()
  let filled = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const part = value.subarray(0, length - filled)
    bytes.set(part, filled)
    filled += part.length
    const isTooMuch = isAll && part.length < value.length
    if (!isTooMuch && (isAll || filled < length)) continue
    await reader.cancel()
    if (isTooMuch) throw new RangeError('more bytes than promised')
    return bytes
  }
  if (filled < length) throw new RangeError('fewer bytes than promised')
  return bytes
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
