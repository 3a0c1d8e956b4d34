import { deflateRawSync } from 'node:zlib'
import { crc32 } from '@cudnn-rnn/checkpoint/files'
import { ByteList } from './byte_list.js'

/** A file of an archive, and wrong values for its directory entry. */
export interface ZipFile {
  readonly name: string
  readonly bytes: Uint8Array
  readonly deflate?: boolean
  /** Place among the files whose local header the directory gives for this one. */
  readonly sameAs?: number
  readonly claims?: Partial<Record<'size' | 'packed' | 'offset' | 'checksum' | 'method' | 'flags', number>>
}

/** The bytes of a zip archive. Source: PKWARE's APPNOTE.TXT, 4.3. */
export function zipBytes(files: readonly ZipFile[]): Uint8Array {
  const list = new ByteList()
  const offsets: number[] = []
  const directory = new ByteList()
  for (const { name, bytes, deflate = false, sameAs, claims = {} } of files) {
    const text = new TextEncoder().encode(name)
    const packed = deflate ? new Uint8Array(deflateRawSync(bytes)) : bytes
    const { method = deflate ? 8 : 0, flags = 0, checksum = crc32(bytes) } = claims
    const { packed: packedSize = packed.length, size = bytes.length } = claims
    offsets.push(list.length)
    const { offset = offsets[sameAs ?? -1] ?? list.length } = claims
    const common = (to: ByteList) => {
      return to.u16(flags).u16(method).u32(0).u32(checksum).u32(packedSize).u32(size).u16(text.length).u16(0)
    }
    if (sameAs === undefined) common(list.u32(0x04034b50).u16(20)).bytes(text, packed)
    common(directory.u32(0x02014b50).u16(20).u16(20)).bytes(new Uint8Array(10)).u32(offset).bytes(text)
  }
  const start = list.length
  const end = new ByteList().u32(0x06054b50).u32(0).u16(files.length).u16(files.length)
  return list.bytes(directory.finish(), end.u32(directory.length).u32(start).u16(0).finish()).finish()
}
