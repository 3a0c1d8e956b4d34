const view = new DataView(new ArrayBuffer(4))

/** The value of an IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. */
export function float16ToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25)
}

/** The binary16 nearest to `value`, ties to even; infinity from 65520, halfway beyond the largest. */
export function numberToFloat16(value: number): number {
  if (Number.isNaN(value)) return 0x7e00
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const magnitude = Math.abs(value)
  if (magnitude >= 65520) return sign | 0x7c00
  // The exponent of the spacing at this magnitude; subnormals have the smallest normal number's.
  const exponent = Math.max(-14, Math.floor(Math.log2(magnitude || 1e-30)))
  const units = nearestEven(magnitude / 2 ** (exponent - 10))
  // A carry out of the fraction raises the exponent, because the fields are adjacent.
  return sign | (exponent === -14 ? units : ((exponent + 14) << 10) + units)
}

/** The value of a bfloat16: the upper half of a float32. */
export function bfloat16ToNumber(bits: number): number {
  view.setUint32(0, bits << 16)
  return view.getFloat32(0)
}

/** The bfloat16 nearest to the float32 of `value`, ties to even. */
export function numberToBfloat16(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0
  view.setFloat32(0, value)
  const bits = view.getUint32(0)
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16
}

function nearestEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}
