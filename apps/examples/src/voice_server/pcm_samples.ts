const FULL_SCALE = 32_768

/** Reads 16-bit little-endian integers as samples in -1..1 into `samples`, from its element `begin` on. */
export function readPcm16(bytes: Buffer, samples: Float32Array, begin: number): void {
  // A view, as Buffer.readInt16LE takes three times as long. An Int16Array would need an even offset.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let index = 0; index < bytes.length / 2; index++) {
    samples[begin + index] = view.getInt16(2 * index, true) / FULL_SCALE
  }
}
