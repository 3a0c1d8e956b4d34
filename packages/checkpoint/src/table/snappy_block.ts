import { uncompress } from 'snappyjs'

/**
 * The contents of a snappy-compressed block. The library trusts its input: lengths of 31 bits and more send it backwards,
 * forever, and output that is too short is padded with zeros. So the elements are measured before it sees them.
 *
 * Source: google/snappy, format_description.txt.
 *
 * @throws RangeError when the data is damaged
 */
export function uncompressBlock(compressed: Uint8Array): Uint8Array {
  const declared = checkElements(compressed)
  const contents = uncompress(compressed, declared)
  if (contents.length !== declared) throw new RangeError('snappy data has another length than it declares')
  return contents
}

/** Walks the elements: literals are in the data, copies reach back into the output, and all make the length declared. */
function checkElements(compressed: Uint8Array): number {
  let position = 0
  const littleEndian = (bytes: number) => {
    if (position + bytes > compressed.length) throw new RangeError('snappy data is cut off')
    let value = 0
    for (const [index, byte] of compressed.subarray(position, position + bytes).entries())
      value += byte * 2 ** (8 * index)
    position += bytes
    return value
  }
  let declared = 0
  for (let scale = 1, byte = 0x80; byte >= 0x80; scale *= 128) {
    byte = littleEndian(1)
    declared += (byte & 0x7f) * scale
    if (declared > 0xffffffff || scale > 2 ** 28) throw new RangeError('snappy data is too long')
  }
  let output = 0
  while (position < compressed.length) {
    const tag = littleEndian(1)
    const kind = tag & 3
    if (kind === 0) {
      const short = tag >>> 2
      const length = (short < 60 ? short : littleEndian(short - 59)) + 1
      if (position + length > compressed.length) throw new RangeError('a literal leaves the snappy data')
      position += length
      output += length
    } else {
      const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
      const offset = kind === 1 ? littleEndian(1) + ((tag >>> 5) << 8) : littleEndian(kind === 2 ? 2 : 4)
      if (offset === 0 || offset > output) throw new RangeError('a copy reaches before the snappy data')
      output += length
    }
  }
  if (output !== declared) throw new RangeError('snappy data has another length than it declares')
  return declared
}
