/** Element types of cuDNN, as the raw checks store them on the device. */
export type ElementType = 'float32' | 'float64' | 'float16' | 'bfloat16'

/** The bytes of `values` in `type`, rounded to the nearest. */
export function encoded(values: ArrayLike<number>, type: ElementType): Uint8Array {
  if (type === 'float32') return bytesOf(Float32Array.from(values))
  if (type === 'float64') return bytesOf(Float64Array.from(values))
  const bits = type === 'float16' ? float16Bits : bfloat16Bits
  return bytesOf(Uint16Array.from(values, bits))
}

export function decoded(bytes: Uint8Array, type: ElementType): Float64Array {
  const { buffer } = bytes
  if (type === 'float32') return Float64Array.from(new Float32Array(buffer))
  if (type === 'float64') return new Float64Array(buffer.slice(0))
  const value = type === 'float16' ? float16Value : (bits: number) => wordAsFloat(bits << 16)
  return Float64Array.from(new Uint16Array(buffer), value)
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
}

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

function wordAsFloat(bits: number): number {
  word[0] = bits
  return float[0]!
}

function bfloat16Bits(value: number): number {
  float[0] = value
  if (Number.isNaN(value)) return 0x7fc0
  return (word[0]! + 0x7fff + ((word[0]! >>> 16) & 1)) >>> 16
}

function float16Bits(value: number): number {
  if (Number.isNaN(value)) return 0x7e00
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const magnitude = Math.abs(value)
  if (magnitude >= 65520) return sign | 0x7c00
  // The spacing of halves here; subnormals have the smallest normal's.
  const exponent = Math.max(-14, Math.floor(Math.log2(magnitude || 1e-30)))
  const units = nearestEven(magnitude / 2 ** (exponent - 10))
  return sign | (exponent === -14 ? units : ((exponent + 14) << 10) + units)
}

function nearestEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}

function float16Value(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const mantissa = bits & 1023
  if (exponent === 31) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1024 + mantissa) * 2 ** (exponent - 25)
}
