import { type Backend, DTYPES } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { Communicator, TensorSum } from './communicator.js'

/** A sum of tensors by one all-reduce of a copy, for a communicator that has no `tensorSum` for the executor. */
export function sumThroughHost({ ops, dtype }: Backend, communicator: Pick<Communicator, 'allReduce'>): TensorSum {
  let copy: FloatArray = new DTYPES[dtype].array(0)
  return async (tensors, options) => {
    const arrays: FloatArray[] = []
    for (const tensor of tensors) arrays.push((await tensor.read()).data as FloatArray)
    const length = arrays.reduce((sum, { length }) => sum + length, 0)
    if (copy.length !== length) copy = new DTYPES[dtype].array(length)
    let at = 0
    const parts = arrays.map((array) => {
      const part = copy.subarray(at, at + array.length)
      part.set(array)
      at += array.length
      return part
    })
    await communicator.allReduce(copy, options)
    for (const [index, tensor] of tensors.entries()) ops.assign(tensor, { data: parts[index], shape: tensor.shape })
  }
}
