import {
  arrayTypeOf,
  checkArguments,
  checkIsObject,
  codedRangeError,
  codedTypeError,
  describeValue,
  listOf,
  liveLength,
  OBJECT,
  ownView,
} from '@cudnn-rnn/canonical/rules'
import type { ParamLayout, PlacedRegion } from './flat_layout.js'
import type { CanonicalParams, FloatArray, Tensor } from './tensor.js'

/**
 * Copies canonical tensors into the flat buffer `flat` ([layout.size]) at the offsets of `layout`.
 *
 * Shapes are compared by element count, as TensorFlow does: releases up to 1.3 label weights 1-D or transposed while the
 * elements stay row-major [rows, columns].
 *
 * @throws RangeError `ERR_CANONICAL_COUNT` (wrong number of tensors), `ERR_CANONICAL_SIZE` (wrong number of elements)
 * @throws TypeError `ERR_CANONICAL_DTYPE` when a tensor's array is of another type than `flat`
 * @example
 * ```ts
 * import { createRnnDescriptor, flatLayout, packCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const size = { numLayers: 1, numUnits: 1, inputSize: 1 }
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', inputMode: 'linear_input', ...size })
 * const layout = flatLayout(descriptor)
 * const weights = [2, 5].map((value) => ({ data: Float32Array.of(value), shape: [1, 1] }))
 * const biases = [6, 7].map((value) => ({ data: Float32Array.of(value), shape: [1] }))
 * console.log(packCanonical(layout, { weights, biases }, new Float32Array(layout.size))) // [2, 5, 6, 7]
 * ```
 */
export function packCanonical<Data extends FloatArray>(
  layout: ParamLayout,
  canonical: CanonicalParams,
  flat: Data,
): Data {
  checkLength(layout, flat)
  const checked = checkCanonical(layout, canonical, flat)
  for (const kind of ['weights', 'biases'] as const) {
    for (const [index, region] of layout[kind].entries()) flat.set(checked[kind][index].data, region.offset)
  }
  return flat
}

/**
 * Copies the canonical tensors out of the flat buffer `flat`: the inverse of {@link packCanonical}, bit for bit.
 *
 * @throws RangeError `ERR_PARAMS_SIZE` when `flat` does not have `layout.size` elements
 * @example
 * ```ts
 * import { createRnnDescriptor, flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const size = { numLayers: 1, numUnits: 1, inputSize: 1 }
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', inputMode: 'linear_input', ...size })
 * const { weights, biases } = unpackCanonical(flatLayout(descriptor), Float32Array.of(2, 5, 6, 7))
 * console.log(weights[1]?.data, biases[0]?.data) // [5] [6]
 * ```
 */
export function unpackCanonical<Data extends FloatArray>(layout: ParamLayout, flat: Data): CanonicalParams<Data> {
  checkLength(layout, flat)
  const tensor = (region: PlacedRegion): Tensor<Data> => ({
    data: flat.slice(region.offset, region.offset + region.size) as Data,
    shape: region.shape,
  })
  return {
    weights: layout.weights.map(tensor),
    biases: layout.biases.map(tensor),
  }
}

/**
 * Checks count, element counts and element type of canonical tensors against a layout, before anything is written.
 *
 * @param like an array of the expected element type.
 * @returns the tensors as they were read here, once, each with a plain view of its elements.
 * @throws as {@link packCanonical}
 * @example
 * ```ts
 * import { checkCanonical, createRnnDescriptor, flatLayout, hasErrorCode } from '@cudnn-rnn/rnn/canonical'
 *
 * const size = { numLayers: 1, numUnits: 1, inputSize: 1 }
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', inputMode: 'linear_input', ...size })
 * try {
 *   checkCanonical(flatLayout(descriptor), { weights: [], biases: [] }, new Float32Array(0))
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_CANONICAL_COUNT')) // true
 * }
 * ```
 */
export function checkCanonical<Data extends FloatArray>(
  layout: ParamLayout,
  canonical: CanonicalParams,
  like: Data,
): CanonicalParams<Data> {
  checkIsLayout(layout)
  const { weights, biases }: Partial<CanonicalParams> = canonical ?? {}
  return {
    weights: checkTensors('weights', layout.weights, weights, like),
    biases: checkTensors('biases', layout.biases, biases, like),
  }
}

const ACTION = 'pack canonical parameters'

function checkTensors<Data extends FloatArray>(
  kind: 'weights' | 'biases',
  regions: readonly PlacedRegion[],
  tensors: readonly Tensor[] | undefined,
  like: Data,
): Tensor<Data>[] {
  const count = Array.isArray(tensors) ? tensors.length : undefined
  if (tensors === undefined || count !== regions.length) {
    const { layer = 0, direction = 0 } = regions.at(-1) ?? {}
    throw codedRangeError(
      'ERR_CANONICAL_COUNT',
      `Cannot ${ACTION} as this network has ${regions.length} ${kind} in layers 0..${layer}, directions 0..${direction}: current number is ${count}`,
      { kind, expected: regions.length, actual: count },
    )
  }
  return regions.map((region, index) => checkTensor(`${kind}[${index}]`, region, tensors[index], like))
}

function checkTensor<Data extends FloatArray>(
  name: string,
  region: PlacedRegion,
  tensor: Tensor | undefined,
  like: Data,
): Tensor<Data> {
  checkIsObject(ACTION, 'a region of the layout', region)
  checkIsObject(ACTION, 'the shape of a region of the layout', region.shape)
  const { data, shape }: Partial<Tensor> = tensor ?? {}
  const expected = arrayTypeOf(like)
  const actual = arrayTypeOf(data)
  if (actual !== expected) {
    throw codedTypeError(
      'ERR_CANONICAL_DTYPE',
      `Cannot ${ACTION} as ${name} must be a ${expected}: current type is ${actual ?? describeValue(data)}`,
      { argument: name, expected, actual },
    )
  }
  const view = ownView(data as FloatArray, expected === 'Float32Array' ? Float32Array : (Float64Array as never))
  if (view.length !== region.size) {
    throw codedRangeError(
      'ERR_CANONICAL_SIZE',
      `Cannot ${ACTION} as ${name} (layer ${region.layer}, direction ${region.direction}, ${region.side} side, ${region.gate ?? 'projection'}) must have shape [${region.shape.join(',')}]: current shape is ${Array.isArray(shape) ? `[${shape.map(describeValue).join(',')}]` : describeValue(shape)} with ${view.length} elements`,
      { argument: name, expected: region.shape, actual: shape },
    )
  }
  return { data: view as Data, shape: region.shape }
}

function checkIsLayout(layout: ParamLayout): void {
  checkIsObject(ACTION, 'layout', layout)
  for (const kind of ['weights', 'biases'] as const) {
    const name = `layout.${kind}`
    checkArguments(ACTION, { [name]: layout[kind] }, { [name]: listOf(OBJECT) })
  }
}

function checkLength(layout: ParamLayout, flat: FloatArray): void {
  checkIsLayout(layout)
  const length = arrayTypeOf(flat) === undefined ? undefined : liveLength(flat)
  if (length === layout.size) return
  throw codedRangeError(
    'ERR_PARAMS_SIZE',
    `Cannot use this buffer as opaque parameters as the network has ${describeValue(layout.size)} elements: current length is ${length}`,
    { expected: layout.size, actual: length },
  )
}
