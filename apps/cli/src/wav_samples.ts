import { codedRangeError } from './coded_error.js'

/**
 * The samples of a WAV file of 16-bit integers or 32-bit floats in -1..1, its channels mixed to one.
 *
 * @throws RangeError `ERR_WAV_FILE`
 */
export function wavSamples(path: string, bytes: Uint8Array): Float32Array {
  const refuse = (rule: string) => codedRangeError('ERR_WAV_FILE', `Cannot read ${path} as ${rule}`, { path })
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = (at: number) => new TextDecoder('latin1').decode(bytes.subarray(at, at + 4))
  if (text(0) !== 'RIFF' || text(8) !== 'WAVE') throw refuse('it must be a WAV file')
  let form: { readonly code: number; readonly channels: number; readonly bits: number } | undefined
  for (let at = 12; at + 8 <= bytes.length; ) {
    const [id, size] = [text(at), view.getUint32(at + 4, true)]
    const begin = at + 8
    if (id === 'fmt ' && begin + 16 <= bytes.length) {
      const extended = view.getUint16(begin, true) === 0xfffe && begin + 26 <= bytes.length
      form = {
        code: view.getUint16(extended ? begin + 24 : begin, true),
        channels: view.getUint16(begin + 2, true),
        bits: view.getUint16(begin + 14, true),
      }
    }
    if (id === 'data' && form !== undefined) {
      const { code, channels, bits } = form
      const isFloat = code === 3 && bits === 32
      if ((!isFloat && !(code === 1 && bits === 16)) || channels === 0)
        throw refuse(`its samples must be 16-bit integers or 32-bit floats: they have format ${code} of ${bits} bits`)
      const width = bits / 8
      const count = Math.floor(Math.min(size, bytes.length - begin) / (width * channels))
      const sampleAt = (place: number) => {
        const offset = begin + place * width
        return isFloat ? view.getFloat32(offset, true) : view.getInt16(offset, true) / 32_768
      }
      return Float32Array.from({ length: count }, (_, k) => {
        let sum = 0
        for (let channel = 0; channel < channels; channel++) sum += sampleAt(k * channels + channel)
        return sum / channels
      })
    }
    // Chunks begin at even places.
    at = begin + size + (size % 2)
  }
  throw refuse('it must have samples')
}
