import {
  arrayTypeOf,
  checkIsObject,
  codedRangeError,
  codedTypeError,
  describeValue,
  fields,
  integerFrom,
  isFloatArray,
  listOf,
  recordOf,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { elementCount, type Tensor } from '../tensor.js'
import type { FrameworkLayout, TensorGroup } from './framework_layout.js'

type Tensors = Readonly<Record<string, Tensor>>

/**
 * Checks names, shapes and element types of a framework's tensors against a layout, before anything is copied.
 *
 * @throws RangeError `ERR_TENSOR_GROUPS` (wrong number of records), `ERR_MISSING_TENSOR`, `ERR_TENSOR_SHAPE`
 * @throws TypeError `ERR_UNKNOWN_TENSOR`, `ERR_TENSOR_DTYPE`
 */
export function checkNamedTensors(layout: FrameworkLayout, given: readonly Tensors[]): void {
  checkFrameworkLayout(layout)
  const { framework, groups } = layout
  const action = `Cannot convert ${framework} tensors to canonical parameters as`
  const actual = Array.isArray(given) ? given.length : undefined
  if (actual !== groups.length) {
    throw codedRangeError(
      'ERR_TENSOR_GROUPS',
      `${action} this network has ${groups.length} records of tensors: current number is ${actual}`,
      { framework, expected: groups.length, actual },
    )
  }
  for (const [index, tensors] of given.entries()) checkIsObject('convert tensors', `record ${index}`, tensors)
  const like = Object.values(given[0])[0]?.data
  for (const [index, group] of groups.entries()) {
    checkNames(action, index, group, given[index])
    for (const [name, tensor] of Object.entries(given[index])) {
      checkFloat(action, index, name, tensor, like)
      checkShape(action, index, name, tensor, group.shapes[name])
    }
  }
}

const COUNT = integerFrom(0)
const STRIDE = integerFrom(1)
const PLACEMENT = fields({
  ...{ tensor: TEXT, offset: COUNT, rows: COUNT, columns: COUNT },
  ...{ rowStride: STRIDE, columnStride: STRIDE },
})
const GROUP = fields({
  shapes: recordOf(listOf(COUNT)),
  weights: listOf(PLACEMENT),
  biases: listOf(PLACEMENT),
})
const LAYOUT = fields({ framework: TEXT, groups: listOf(GROUP) })

function holdsItsPlacements({ shapes, weights, biases }: TensorGroup): boolean {
  return [...weights, ...biases].every(({ tensor, offset, rows, columns, rowStride, columnStride }) => {
    if (!Object.hasOwn(shapes, tensor)) return false
    const last = offset + (rows - 1) * rowStride + (columns - 1) * columnStride
    return rows === 0 || columns === 0 || last < elementCount(shapes[tensor])
  })
}

/** Throws TypeError `ERR_INVALID_OPTION_TYPE` unless `layout` has the form of a result of the `…Layout` functions. */
export function checkFrameworkLayout(layout: FrameworkLayout): void {
  if (LAYOUT.find(layout, 'layout') === undefined && layout.groups.every(holdsItsPlacements)) return
  throw codedTypeError(
    'ERR_INVALID_OPTION_TYPE',
    `Cannot convert tensors as layout must be a result of tensorflowLayout(), or of its form: current value is ${describeValue(layout)}`,
    { argument: 'layout' },
  )
}

function checkNames(action: string, index: number, group: TensorGroup, tensors: Tensors): void {
  const known = Object.keys(group.shapes)
  for (const name of Object.keys(tensors)) {
    if (Object.hasOwn(group.shapes, name)) continue
    throw codedTypeError(
      'ERR_UNKNOWN_TENSOR',
      `${action} record ${index} has only ${known.join(', ')}: current name is ${name}`,
      { group: index, tensor: name },
    )
  }
  const biases = new Set(group.biases.map(({ tensor }) => tensor))
  const hasBias = Object.keys(tensors).some((name) => biases.has(name))
  for (const name of known) {
    if (Object.hasOwn(tensors, name) || (biases.has(name) && !hasBias)) continue
    throw codedRangeError('ERR_MISSING_TENSOR', `${action} record ${index} must have ${name}: it is missing`, {
      group: index,
      tensor: name,
    })
  }
}

function checkFloat(action: string, index: number, name: string, tensor: Tensor, like: Tensor['data'] | undefined) {
  if (isFloatArray(tensor?.data) && arrayTypeOf(tensor.data) === arrayTypeOf(like)) return
  const actual = tensor?.data?.constructor?.name
  throw codedTypeError(
    'ERR_TENSOR_DTYPE',
    `${action} all tensors must be Float32Array or all Float64Array: current type of ${name} in record ${index} is ${actual}`,
    { group: index, tensor: name, actual },
  )
}

function checkShape(action: string, index: number, name: string, { data, shape }: Tensor, expected: readonly number[]) {
  const fits =
    Array.isArray(shape) &&
    shape.length === expected.length &&
    expected.every((size, axis) => shape[axis] === size) &&
    data.length === elementCount(expected)
  if (fits) return
  const actual = Array.isArray(shape) ? `[${shape.map(describeValue).join(',')}]` : describeValue(shape)
  throw codedRangeError(
    'ERR_TENSOR_SHAPE',
    `${action} ${name} in record ${index} must have shape [${expected.join(',')}]: current shape is ${actual} with ${data.length} elements`,
    { group: index, tensor: name, expected, actual: shape },
  )
}
