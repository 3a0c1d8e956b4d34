import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { invalidOption } from '@cudnn-rnn/canonical/rules'
import { checkedHostTensor } from '../forwarded.js'

/**
 * A copy of a host tensor with its axes in another order, for weights of other frameworks: PyTorch's `Linear` keeps [O,I],
 * its `Conv1d` [O,I,K], where the layers here take [I,O] and [K,I,O].
 *
 *     conv1d({ filters, kernelSize, kernelInitializer: transpose(weight, [2, 1, 0]) })
 *
 * @param axes the axis of `tensor` that each axis of the result is. Default: reversed.
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`; RangeError `ERR_INVALID_OPTION` for axes that are not the
 *   tensor's, `ERR_SHAPE`
 * @example
 * ```ts
 * import { transpose } from '@cudnn-rnn/rnn/layers'
 *
 * const weight = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] } // [O,I], of PyTorch's Linear
 * const kernel = transpose(weight)
 * console.log(kernel.shape, kernel.data) // [3, 2] [1, 4, 2, 5, 3, 6]
 * ```
 */
export function transpose<Elements extends FloatArray>(
  tensor: Tensor<Elements>,
  axes: readonly number[] = reversedAxes(tensor),
): Tensor<Elements> {
  const { data, shape } = checkedHostTensor('transpose', 'tensor', tensor)
  if (!Array.isArray(axes) || axes.length !== shape.length || !shape.every((_, axis) => axes.includes(axis))) {
    throw invalidOption('transpose', 'axes', `0..${shape.length - 1} in any order`, axes)
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

function reversedAxes(tensor: Tensor): readonly number[] {
  return checkedHostTensor('transpose', 'tensor', tensor)
    .shape.map((_, axis) => axis)
    .reverse()
}
