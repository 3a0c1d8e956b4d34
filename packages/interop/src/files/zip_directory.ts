import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { corrupt, unsupported } from '../errors.js'

/** A file, as the central directory of a zip archive describes it. */
export interface ZipPlace {
  readonly name: string
  /** Offset of its local header. */
  readonly offset: number
  readonly method: number
  readonly isEncrypted: boolean
  readonly packedSize: number
  readonly size: number
  /** CRC-32 of the unpacked bytes. */
  readonly checksum: number
}

/** A checkpoint has a file for each tensor; no model has more. */
const MOST_ENTRIES = 2 ** 17

const END = { signature: 0x06054b50, bytes: 22 }
const LONGEST_COMMENT = 0xffff
const ZIP64_LOCATOR = { signature: 0x07064b50, bytes: 20 }
const ZIP64_END = { signature: 0x06064b50, bytes: 56 }
const ENTRY = { signature: 0x02014b50, bytes: 46 }
const ZIP64_EXTRA = 1
const ENCRYPTED = 1

/** The value of a field that the ZIP64 extra field or record replaces. */
const [ELSEWHERE_16, ELSEWHERE_32] = [0xffff, 0xffffffff]

const decoder = new TextDecoder()

/**
 * Reads the directory of a zip archive, which may be a ZIP64 one. A library makes some kilobytes of objects for each file,
 * so that archives of many small files would take far more memory than their size. Source: PKWARE's APPNOTE.TXT, 4.3 and 4.5.3.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED` for too many files
 */
export async function readZipDirectory(source: ByteSource): Promise<ZipPlace[]> {
  const path = source.name
  const { count, size, offset } = await directoryOf(source)
  if (count > MOST_ENTRIES) throw unsupported(path, `an archive must hold at most ${MOST_ENTRIES} files`)
  const bytes = await source.read(offset, size)
  const view = viewOf(bytes)
  const places: ZipPlace[] = []
  let at = 0
  for (let entry = 0; entry < count; entry++) {
    if (at + ENTRY.bytes > size || view.getUint32(at, true) !== ENTRY.signature) {
      throw corrupt(path, `its directory has ${entry} files, not ${count}`)
    }
    const lengthAt = (field: number) => view.getUint16(at + field, true)
    const [nameLength, extraLength, commentLength] = [lengthAt(28), lengthAt(30), lengthAt(32)]
    const nameEnd = at + ENTRY.bytes + nameLength
    const end = nameEnd + extraLength + commentLength
    if (end > size) throw corrupt(path, 'its directory is cut')
    const name = decoder.decode(bytes.subarray(at + ENTRY.bytes, nameEnd))
    // Folders have entries too.
    if (!name.endsWith('/')) places.push(placeAt(path, view, at, name, nameEnd, extraLength))
    at = end
  }
  return places
}

function placeAt(
  path: string,
  view: DataView,
  at: number,
  name: string,
  extraStart: number,
  extraLength: number,
): ZipPlace {
  const wide = wideNumbers(path, view, extraStart, extraStart + extraLength)
  // The wide numbers belong to the fields that have none, in this order.
  const number = (field: number) => {
    const value = view.getUint32(at + field, true)
    return value === ELSEWHERE_32 ? (wide.next().value ?? value) : value
  }
  const [size, packedSize, offset] = [number(24), number(20), number(42)]
  return {
    name,
    offset: offset,
    method: view.getUint16(at + 10, true),
    isEncrypted: (view.getUint16(at + 8, true) & ENCRYPTED) !== 0,
    packedSize: packedSize,
    size: size,
    checksum: view.getUint32(at + 16, true),
  }
}

/** The numbers of 64 bits in the extra fields of an entry. */
function* wideNumbers(path: string, view: DataView, start: number, end: number): Generator<number, undefined> {
  for (let at = start; at + 4 <= end; ) {
    const [id, length] = [view.getUint16(at, true), view.getUint16(at + 2, true)]
    const fieldEnd = Math.min(end, at + 4 + length)
    if (id === ZIP64_EXTRA) for (let own = at + 4; own + 8 <= fieldEnd; own += 8) yield wideNumber(path, view, own)
    at = fieldEnd
  }
  return undefined
}

/** Count of files, size and place of a directory. */
interface Directory {
  readonly count: number
  readonly size: number
  readonly offset: number
}

async function directoryOf(source: ByteSource): Promise<Directory> {
  const path = source.name
  const length = Math.min(source.size, END.bytes + LONGEST_COMMENT)
  const view = viewOf(await source.read(source.size - length, length))
  for (let at = length - END.bytes; at >= 0; at--) {
    const isEnd =
      view.getUint32(at, true) === END.signature && view.getUint16(at + 20, true) === length - at - END.bytes
    if (!isEnd) continue
    const end = source.size - length + at
    const [count, size, offset] = [
      view.getUint16(at + 10, true),
      view.getUint32(at + 12, true),
      view.getUint32(at + 16, true),
    ]
    const isWide = count === ELSEWHERE_16 || size === ELSEWHERE_32 || offset === ELSEWHERE_32
    const found = (isWide ? await wideDirectory(source, end) : undefined) ?? { count, size, offset }
    if (found.offset + found.size <= end) return found
    throw corrupt(path, `its directory of ${found.size} bytes at ${found.offset} must end before ${end}`)
  }
  throw corrupt(path, 'it is not a complete zip archive')
}

/** The end of a ZIP64 directory; undefined if there is none, as for an archive of 65,535 files. */
async function wideDirectory(source: ByteSource, end: number): Promise<Directory | undefined> {
  const path = source.name
  if (end < ZIP64_LOCATOR.bytes) return undefined
  const locator = viewOf(await source.read(end - ZIP64_LOCATOR.bytes, ZIP64_LOCATOR.bytes))
  if (locator.getUint32(0, true) !== ZIP64_LOCATOR.signature) return undefined
  const place = wideNumber(path, locator, 8)
  if (place + ZIP64_END.bytes > end) throw corrupt(path, 'the end of its directory is not at the recorded place')
  const view = viewOf(await source.read(place, ZIP64_END.bytes))
  if (view.getUint32(0, true) !== ZIP64_END.signature) throw corrupt(path, 'the end of its directory is damaged')
  const [count, size, offset] = [wideNumber(path, view, 32), wideNumber(path, view, 40), wideNumber(path, view, 48)]
  return { count, size, offset }
}

function wideNumber(path: string, view: DataView, at: number): number {
  const value = Number(view.getBigUint64(at, true))
  if (Number.isSafeInteger(value)) return value
  throw corrupt(path, `a number in its directory is ${value}`)
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
