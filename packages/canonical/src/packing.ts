import { codedRangeError, codedTypeError } from './coded_error.js'
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
 */
export function packCanonical<Data extends FloatArray>(
  layout: ParamLayout,
  canonical: CanonicalParams,
  flat: Data,
): Data {
  checkLength(layout, flat.length)
  checkCanonical(layout, canonical, flat)
  for (const kind of ['weights', 'biases'] as const) {
    for (const [index, region] of layout[kind].entries()) flat.set(canonical[kind][index]!.data as Data, region.offset)
  }
  return flat
}

/**
 * Copies the canonical tensors out of the flat buffer `flat`: the inverse of {@link packCanonical}, bit for bit.
 *
 * @throws RangeError `ERR_PARAMS_SIZE` when `flat` does not have `layout.size` elements
 */
export function unpackCanonical<Data extends FloatArray>(layout: ParamLayout, flat: Data): CanonicalParams<Data> {
  checkLength(layout, flat.length)
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
 * @throws as {@link packCanonical}
 */
export function checkCanonical(layout: ParamLayout, canonical: CanonicalParams, like: FloatArray): void {
  for (const kind of ['weights', 'biases'] as const) {
    const tensors = canonical?.[kind]
    const regions = layout[kind]
    if (tensors?.length !== regions.length) {
      throw codedRangeError(
        'ERR_CANONICAL_COUNT',
        `Cannot pack canonical parameters as this network has ${regions.length} ${kind}: current number is ${tensors?.length}`,
        { kind, expected: regions.length, actual: tensors?.length },
      )
    }
    for (const [index, region] of regions.entries()) checkTensor(kind, index, region, tensors[index]!, like)
  }
}

function checkTensor(kind: string, index: number, region: PlacedRegion, tensor: Tensor, like: FloatArray): void {
  const expected = like.constructor.name
  const actual = tensor?.data?.constructor.name
  if (actual !== expected) {
    throw codedTypeError(
      'ERR_CANONICAL_DTYPE',
      `Cannot pack canonical parameters as ${kind}[${index}] must be a ${expected}: current type is ${actual}`,
      { kind, index, expected, actual },
    )
  }
  if (tensor.data.length !== region.size) {
    throw codedRangeError(
      'ERR_CANONICAL_SIZE',
      `Cannot pack canonical parameters as ${kind}[${index}] (layer ${region.layer}, direction ${region.direction}, ${region.side} side, ${region.gate ?? 'projection'}) must have shape [${region.shape.join(',')}]: current shape is [${tensor.shape.join(',')}] with ${tensor.data.length} elements`,
      { kind, index, expected: region.shape, actual: tensor.shape },
    )
  }
}

function checkLength(layout: ParamLayout, length: number): void {
  if (length === layout.size) return
  throw codedRangeError(
    'ERR_PARAMS_SIZE',
    `Cannot use this buffer as opaque parameters as the network has ${layout.size} elements: current length is ${length}`,
    { expected: layout.size, actual: length },
  )
}
