import { DTYPES, type DType } from '@cudnn-rnn/backend'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { dtypeOf } from '@cudnn-rnn/executor-kit'

/** Copies the batch rows `rows` of `states` [L,B,·] to a tensor [L,count,·]; rows past theirs are zeros. */
export function gatherRows(states: Tensor, rows: Int32Array, count = rows.length): Tensor {
  const [layers = 0, batch = 0, columns = 0] = states.shape
  const shape = [layers, count, columns]
  // `count` may be more than B.
  const data = new DTYPES[dtypeOf(states.data) as DType].array(elementCount(shape)) as FloatArray
  for (let layer = 0; layer < layers; layer++) {
    for (const [index, row] of rows.entries()) {
      const begin = (layer * batch + row) * columns
      data.set(states.data.subarray(begin, begin + columns), (layer * count + index) * columns)
    }
  }
  return { data, shape }
}

/** Copies the first rows of `from` [L,count,·] to the batch rows `rows` of `states` [L,B,·]. */
export function scatterRows(states: Tensor, rows: Int32Array, from: Tensor): void {
  const [layers = 0, batch = 0, columns = 0] = states.shape
  const [, count = 0] = from.shape
  for (let layer = 0; layer < layers; layer++) {
    for (const [index, row] of rows.entries()) {
      const begin = (layer * count + index) * columns
      states.data.set(from.data.subarray(begin, begin + columns), (layer * batch + row) * columns)
    }
  }
}
