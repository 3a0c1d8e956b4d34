import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { crc32 } from '@cudnn-rnn/checkpoint/files'
import { corrupt, unsupported } from '../errors.js'
import { LONGEST_NAME } from './joined_name.js'
import { readZipDirectory, type ZipPlace } from './zip_directory.js'

/** DEFLATE cannot make more than this out of one byte, so a larger promise is a lie. */
const LARGEST_RATIO = 1032

/** Deflated files are held whole; stored ones may be larger. */
const LARGEST_UNPACKED = 2 ** 31

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

export interface ZipArchive {
  readonly path: string
  readonly entries: ReadonlyMap<string, ArchiveEntry>
  /** Bytes of its files, unpacked. */
  readonly size: number
  close(): Promise<void>
}

/**
 * Lists the files of a zip archive; nothing of them is read yet.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, also for files that overlap, have one name, or claim to be larger than they
 *   can be; `ERR_WEIGHTS_UNSUPPORTED` for a too large file
 */
export async function openZip(source: ByteSource): Promise<ZipArchive> {
  const path = source.name
  const places = await readZipDirectory(source)
  checkOverlaps(path, source.size, places)
  const entries = new Map<string, ArchiveEntry>()
  for (const place of places) {
    checkPlace(path, place)
    if (entries.has(place.name)) throw corrupt(path, `two files in it are called ${place.name}`)
    entries.set(place.name, new PackedEntry(source, place))
  }
  const size = places.reduce((sum, place) => sum + place.size, 0)
  return { path, entries, size, close: () => source.close() }
}

/** Throws for files that overlap: a small archive could unpack the same bytes any number of times. */
function checkOverlaps(path: string, size: number, places: readonly ZipPlace[]): void {
  const ordered = places.toSorted((a, b) => a.offset - b.offset)
  for (const [index, { name, offset, packedSize }] of ordered.entries()) {
    const end = ordered[index + 1]?.offset ?? size
    if (offset + LOCAL_HEADER_BYTES + packedSize > end) {
      throw corrupt(path, `${name} at ${offset} with ${packedSize} bytes must end before ${end}`)
    }
  }
}

function checkPlace(path: string, { name, size, packedSize, method }: ZipPlace): void {
  if (name.length > LONGEST_NAME) throw corrupt(path, `a name in it has ${name.length} characters`)
  const most = method === METHODS.stored ? packedSize : packedSize * LARGEST_RATIO
  if (size > most) throw corrupt(path, `${name} cannot be ${size} bytes: ${packedSize} are stored`)
  if (size > packedSize && size > LARGEST_UNPACKED) {
    throw unsupported(path, `a packed file must be of at most ${LARGEST_UNPACKED} bytes: ${name} has ${size}`)
  }
}

class PackedEntry implements ArchiveEntry {
  readonly #source: ByteSource
  readonly #place: ZipPlace

  constructor(source: ByteSource, place: ZipPlace) {
    this.#source = source
    this.#place = place
  }

  get name(): string {
    return this.#place.name
  }

  get size(): number {
    return this.#place.size
  }

  async read(): Promise<Uint8Array> {
    const bytes = await this.#unpacked(this.size)
    const { name, checksum } = this.#place
    if (crc32(bytes) === checksum) return bytes
    throw corrupt(this.#source.name, `${name} is damaged: its checksum is wrong`)
  }

  readStart(length: number): Promise<Uint8Array> {
    return this.#unpacked(Math.min(length, this.size))
  }

  /** The first `length` bytes; all of the file must not be more than its size. */
  async #unpacked(length: number): Promise<Uint8Array> {
    const { name, method, isEncrypted, packedSize } = this.#place
    const path = this.#source.name
    if (isEncrypted) throw unsupported(path, `files must not be encrypted: ${name} is`)
    const start = await this.#dataStart()
    if (method === METHODS.stored) return this.#source.read(start, length)
    if (method !== METHODS.deflated) {
      throw unsupported(path, `files must be stored or deflated: ${name} has method ${method}`)
    }
    try {
      return await inflated(this.#pieces(start, packedSize), length, length === this.size)
    } catch (cause) {
      throw cause instanceof Error && 'code' in cause && String(cause.code).startsWith('ERR_CHECKPOINT')
        ? cause
        : corrupt(path, `${name} is damaged`, cause)
    }
  }

  async #dataStart(): Promise<number> {
    const { name, offset } = this.#place
    const header = await this.#source.read(offset, LOCAL_HEADER_BYTES)
    const view = new DataView(header.buffer, header.byteOffset, header.byteLength)
    if (view.getUint32(0, true) === LOCAL_SIGNATURE) {
      return offset + LOCAL_HEADER_BYTES + view.getUint16(26, true) + view.getUint16(28, true)
    }
    throw corrupt(this.#source.name, `${name} is not at the place in its directory`)
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
