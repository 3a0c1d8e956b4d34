const FULL_SCALE = 32_768

/** Samples in -1..1 of 16-bit little-endian integers. */
export function samplesOfPcm16(bytes: Buffer): Float32Array {
  const samples = new Float32Array(bytes.length / 2)
  for (let index = 0; index < samples.length; index++) samples[index] = bytes.readInt16LE(2 * index) / FULL_SCALE
  return samples
}
