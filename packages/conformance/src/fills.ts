import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import {
  type CanonicalParams,
  elementCount,
  type FloatArray,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'

/** (s, w, p) of value[k] = s·sin(w·(k+1)+p), as in fixtures/rnn/fixture_format.py. */
const FILLS = {
  x: [0.8, 0.37, 0.1],
  h0: [0.5, 0.53, 0.2],
  c0: [0.5, 0.61, 0.3],
  weights: [0.6, 0.77, 0.4],
  biases: [0.3, 0.91, 0.5],
  dOutput: [0.7, 0.43, 0.15],
  dOutputH: [0.6, 0.57, 0.25],
  dOutputC: [0.5, 0.67, 0.35],
} as const

/** A tensor of `shape` filled by the formula named `name`; `start` is the running index of its first element. */
export function filled(
  name: keyof typeof FILLS,
  shape: readonly number[],
  dtype: FloatDType,
  { scale = 1, start = 0 } = {},
): Tensor<FloatArray> {
  const [s, w, p] = FILLS[name]
  const data = new DTYPES[dtype].array(elementCount(shape))
  for (let k = 0; k < data.length; k++) data[k] = scale * s * Math.sin(w * (start + k + 1) + p)
  return { data, shape }
}

/** Canonical parameters filled by the formula, one running index over each of the two lists. */
export function filledCanonical(descriptor: RnnDescriptor, dtype: FloatDType, weightScale = 1): CanonicalParams {
  const list = (kind: 'weights' | 'biases', scale: number) => {
    let start = 0
    return paramRegions(descriptor)[kind].map(({ shape, size }) => {
      const tensor = filled(kind, shape, dtype, { scale, start })
      start += size
      return tensor
    })
  }
  return { weights: list('weights', weightScale), biases: list('biases', 1) }
}

/** The elements of all tensors, one after another. */
export function concatenated(tensors: readonly Tensor[]): number[] {
  return tensors.flatMap(({ data }) => Array.from(data))
}
