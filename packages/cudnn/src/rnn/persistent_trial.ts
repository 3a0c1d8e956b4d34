import type { Arithmetic } from '../device/precision.js'

/**
 * The largest difference from cuDNN's result, as a part of the largest number of that result. Both round every step in
 * another order: sums of a thousand products in float32, and operands of 11, 8 and 11 bits of mantissa in the others.
 */
const LIMITS: Readonly<Record<Arithmetic['precision'], number>> = {
  float32: 1e-5,
  tf32x3: 1e-5,
  tf32: 5e-3,
  float16: 5e-3,
  bfloat16: 2e-2,
  float64: 0,
}

/** Whether each of `results` is near the one of `expected`; no result with a NaN is. */
export function agrees(
  arithmetic: Arithmetic,
  results: readonly Uint8Array[],
  expected: readonly Uint8Array[],
): boolean {
  const limit = LIMITS[arithmetic.precision]
  return results.every((bytes, k) => {
    const [a, b] = [valuesOf(arithmetic, bytes), valuesOf(arithmetic, expected[k])]
    let difference = 0
    let largest = 0
    for (let n = 0; n < a.length; n++) {
      // Math.max of a NaN is NaN, which is not below the limit.
      difference = Math.max(difference, Math.abs(a[n] - b[n]))
      largest = Math.max(largest, Math.abs(b[n]))
    }
    return difference <= limit * largest
  })
}

/** The numbers of an array of the device. */
function valuesOf({ half }: Arithmetic, { buffer, byteOffset, byteLength }: Uint8Array): Float32Array {
  if (half === undefined) return new Float32Array(buffer, byteOffset, byteLength / 4)
  const bits = new Uint16Array(buffer, byteOffset, byteLength / 2)
  if (half === 'bfloat16') return new Float32Array(Uint32Array.from(bits, (one) => one << 16).buffer)
  return Float32Array.from(bits, (one) => {
    const exponent = (one >> 10) & 31
    const fraction = one & 1023
    const magnitude =
      exponent === 31
        ? fraction === 0
          ? Number.POSITIVE_INFINITY
          : Number.NaN
        : exponent === 0
          ? fraction * 2 ** -24
          : (1024 + fraction) * 2 ** (exponent - 25)
    return one & 0x8000 ? -magnitude : magnitude
  })
}
