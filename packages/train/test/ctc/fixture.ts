import type { FloatDType } from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'

/** The formula of fixtures/ctc/make.py, and T, B and K. */
interface FilledCase {
  readonly T: number
  readonly B: number
  readonly K: number
  readonly scale: number
  readonly speed: number
  readonly phase: number
}

/** The logits [T,B,K] of a case. */
export function filledLogits({ T, B, K, scale, speed, phase }: FilledCase, dtype: FloatDType): Tensor<FloatArray> {
  const shape = [T, B, K]
  const values = Float64Array.from({ length: elementCount(shape) }, (_, n) => scale * Math.sin(speed * (n + 1) + phase))
  return { data: dtype === 'float32' ? Float32Array.from(values) : values, shape }
}

/** base64 of little-endian float64. */
export function decodeFloat64(text: string): Float64Array {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return new Float64Array(bytes.buffer)
}

/** The largest |actual - expected| / max(1, |expected|); equal infinities and NaN are 0 apart. */
export function largestError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY
  let largest = 0
  for (let k = 0; k < actual.length; k++) {
    if (Object.is(actual[k], expected[k])) continue
    const error = Math.abs(actual[k] - expected[k]) / Math.max(1, Math.abs(expected[k]))
    if (!(error <= largest)) largest = error
  }
  return largest
}
