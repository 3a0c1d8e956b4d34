/*
 * A WAV file of one channel, 16-bit PCM, little-endian:
 *   "RIFF", bytes that follow, "WAVE"
 *   "fmt ", 16, format 1, channels, samples per second, bytes per second, bytes per frame, bits per sample
 *   "data", bytes of the samples, the samples
 */

/** Samples per second that the models take, as wideband telephony has it. */
export const SAMPLE_RATE = 16_000

const HEADER_BYTES = 44
const SAMPLE_BYTES = 2

/** Samples in -1..1 at {@link SAMPLE_RATE} as the bytes of a 16-bit WAV file; values outside are limited. */
export function wavFile(samples: Float32Array): Uint8Array<ArrayBuffer> {
  const dataBytes = SAMPLE_BYTES * samples.length
  const bytes = new Uint8Array(HEADER_BYTES + dataBytes)
  const view = new DataView(bytes.buffer)
  const put = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at)
  put(0, 'RIFF')
  view.setUint32(4, HEADER_BYTES - 8 + dataBytes, true)
  put(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, SAMPLE_RATE, true)
  view.setUint32(28, SAMPLE_BYTES * SAMPLE_RATE, true)
  view.setUint16(32, SAMPLE_BYTES, true)
  view.setUint16(34, 8 * SAMPLE_BYTES, true)
  put(36, 'data')
  view.setUint32(40, dataBytes, true)
  for (const [n, value] of samples.entries()) {
    const integer = Math.round(Math.max(-1, Math.min(1, value)) * 32_767)
    view.setInt16(HEADER_BYTES + SAMPLE_BYTES * n, integer, true)
  }
  return bytes
}
