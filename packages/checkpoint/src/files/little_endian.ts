/** Whether this processor is little-endian, as files and the memory of WebAssembly are. */
export const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** A copy in which the bytes of each number of `size` bytes are in the opposite order. */
export function swappedBytes(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const swapped = new Uint8Array(bytes)
  for (let start = 0; start < swapped.length; start += size) swapped.subarray(start, start + size).reverse()
  return swapped
}

/**
 * The bytes of little-endian numbers of `size` bytes in the order of this processor, for an array over their buffer: `bytes`
 * themselves, or on a big-endian processor a copy.
 */
export function inProcessorOrder<Bytes extends Uint8Array>(
  bytes: Bytes,
  size: number,
): Bytes | Uint8Array<ArrayBuffer> {
  return IS_LITTLE_ENDIAN || size === 1 ? bytes : swappedBytes(bytes, size)
}

/** The elements of an array as little-endian bytes: a view of it, or on a big-endian processor a copy. */
export function littleEndianBytes(array: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }): Uint8Array {
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT } = array
  // A transferred buffer has no view.
  if (byteLength === 0) return new Uint8Array(0)
  return inProcessorOrder(new Uint8Array(buffer, byteOffset, byteLength), BYTES_PER_ELEMENT)
}
