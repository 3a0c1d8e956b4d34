import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type FloatDType, isBackendTensor } from '@cudnn-rnn/ops'
import { allocating, checkTensor, type Dimension } from '@cudnn-rnn/ops/executor'

/** The operands of cells: host tensors of float32 or float64. */
export type FloatTensor = Tensor<FloatArray>

/** A zeroed array of the cell's dtype. Throws RangeError `ERR_OUT_OF_MEMORY`. */
export function newArray(dtype: FloatDType, length: number): FloatArray {
  const { array } = DTYPES[dtype]
  return allocating('make a tensor', () => new array(length), length * array.BYTES_PER_ELEMENT)
}

export function zeros(dtype: FloatDType, shape: readonly number[]): FloatTensor {
  return { data: newArray(dtype, elementCount(shape)), shape }
}

/** The same values in a new array, so that neither side sees the other's writes. */
export function copyTensor({ data, shape }: FloatTensor): FloatTensor {
  return { data: data.slice(), shape: [...shape] }
}

/** `target` += `source`, elements of equal number. */
export function addTensor(target: FloatTensor, source: FloatTensor): void {
  for (let index = 0; index < target.data.length; index++) target.data[index] += source.data[index]
}

/**
 * Checks that an argument is a host tensor of the cell's dtype and of `shape` (a letter stands for a free dimension).
 *
 * @returns the tensor as it was read here, once: to be used in the argument's place.
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`; RangeError `ERR_SHAPE`
 */
export function checkFloatTensor(
  action: string,
  name: string,
  tensor: FloatTensor,
  dtype: FloatDType,
  shape: readonly Dimension[],
): FloatTensor {
  if (isBackendTensor(tensor)) {
    throw codedTypeError(
      'ERR_NOT_A_TENSOR',
      `Cannot ${action} as cells compute on host tensors: current value of ${name} is a backend tensor. Pass the result of its read().`,
      { argument: name },
    )
  }
  return checkTensor(action, name, tensor, { dtype, shape })
}
