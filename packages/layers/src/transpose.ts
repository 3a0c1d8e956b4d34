import { codedRangeError, describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'

/**
 * A copy of a host tensor with its axes in another order, for weights of other frameworks: PyTorch's `Linear` keeps [O,I],
 * its `Conv1d` [O,I,K], where the layers here take [I,O] and [K,I,O].
 *
 *     conv1d({ filters, kernelSize, kernelInitializer: transpose(weight, [2, 1, 0]) })
 *
 * @param axes the axis of `tensor` that each axis of the result is. Default: reversed.
 * @throws RangeError `ERR_INVALID_OPTION` for axes that are not those of the tensor, `ERR_SHAPE`
 */
export function transpose<Elements extends FloatArray>(
  { data, shape }: Tensor<Elements>,
  axes: readonly number[] = shape.map((_, axis) => axis).reverse(),
): Tensor<Elements> {
  if (!Array.isArray(axes) || String([...axes].sort((a, b) => a - b)) !== String(shape.map((_, axis) => axis))) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot transpose as axes must be 0..${shape.length - 1} in any order: current value is ${describeValue(axes)}`,
      { option: 'axes', value: axes },
    )
  }
  if (data.length !== elementCount(shape)) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot transpose as [${shape.join(',')}] has ${elementCount(shape)} elements: current number is ${data.length}`,
      { expected: shape, actual: data.length },
    )
  }
  const strides = shape.map((_, axis) => elementCount(shape.slice(axis + 1)))
  const sizes = axes.map((axis) => shape[axis])
  const steps = axes.map((axis) => strides[axis])
  const copy = data.slice() as Elements
  const at = sizes.map(() => 0)
  let from = 0
  for (let to = 0; to < copy.length; to++) {
    copy[to] = data[from]
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      at[axis]++
      from += steps[axis]
      if (at[axis] < sizes[axis]) break
      from -= steps[axis] * sizes[axis]
      at[axis] = 0
    }
  }
  return { data: copy, shape: sizes }
}
