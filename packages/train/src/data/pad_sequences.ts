import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  arrayTypeOf,
  checkArguments,
  codedRangeError,
  codedTypeError,
  integerIn,
  listOf,
  NUMBER,
  OBJECT,
} from '@cudnn-rnn/canonical/rules'
import { checkIsHostTensor, checkShape } from '@cudnn-rnn/ops/executor'

const INT32 = integerIn(-(2 ** 31), 2 ** 31 - 1)

export type PaddedSequences<Data extends FloatArray | Int32Array> = {
  /** [T,B,…]: time-major, T the longest length. */
  readonly tensor: Tensor<Data>
  /** [B], as `sequenceLengths` of a model's call. */
  readonly lengths: Int32Array
  /** [T,B]: 1 within a row's length, 0 beyond; the weights of a loss. */
  readonly mask: Tensor<Float32Array>
}

/**
 * Joins sequences [t,…] of unequal length into one time-major batch.
 *
 * @param value padding beyond a row's length; default 0.
 * @throws RangeError `ERR_EMPTY_BATCH`; `ERR_SHAPE` naming the row whose steps have another shape than the first's; TypeError `ERR_DTYPE` for rows of
 *   several types; RangeError `ERR_INVALID_OPTION` for padding that int32 cannot hold
 * @example
 * ```ts
 * import { padSequences } from '@cudnn-rnn/rnn/train'
 *
 * const rows = [
 *   { data: Float32Array.of(1, 2, 3), shape: [3] },
 *   { data: Float32Array.of(4), shape: [1] },
 * ]
 * const { tensor, lengths } = padSequences(rows)
 * console.log(tensor.shape, tensor.data) // [3, 2] [1, 4, 2, 0, 3, 0]
 * console.log(lengths) // [3, 1]
 * ```
 */
export function padSequences<Data extends FloatArray | Int32Array>(
  sequences: readonly Tensor<Data>[],
  value = 0,
): PaddedSequences<Data> {
  const { sequences: rows } = checkArguments(
    'pad sequences',
    { sequences, value },
    { sequences: listOf(OBJECT), value: NUMBER },
  )
  const tensors = rows.map((sequence, row) => checkSequence(row, sequence))
  const [first] = tensors
  if (first === undefined) {
    throw codedRangeError('ERR_EMPTY_BATCH', 'Cannot pad sequences as there must be at least one: current number is 0')
  }
  const type = arrayTypeOf(first.data)
  const other = tensors.findIndex(({ data }) => arrayTypeOf(data) !== type)
  if (other >= 0) {
    const message = `Cannot pad sequences as all rows must be of one type: row 0 is a ${type}, row ${other} a ${arrayTypeOf(tensors[other].data)}`
    throw codedTypeError('ERR_DTYPE', message, { row: other })
  }
  if (type === 'Int32Array') checkArguments('pad sequences', { value }, { value: INT32 })
  const step = first.shape.slice(1)
  for (const [row, { shape }] of tensors.entries()) {
    if (shape.length === first.shape.length && step.every((size, axis) => size === shape[axis + 1])) continue
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot pad sequences as row ${row} must have shape [${['T', ...step].join(',')}]: current shape is [${shape.join(',')}]`,
      { row, expected: [undefined, ...step], actual: shape },
    )
  }
  const lengths = Int32Array.from(tensors, ({ shape }) => shape[0])
  const time = lengths.reduce((longest, length) => Math.max(longest, length), 0)
  const batch = tensors.length
  const columns = elementCount(step)
  const data = new (first.data.constructor as new (length: number) => Data)(time * batch * columns).fill(value) as Data
  const mask = new Float32Array(time * batch)
  for (const [row, sequence] of tensors.entries()) {
    for (let t = 0; t < lengths[row]; t++) {
      data.set(sequence.data.subarray(t * columns, (t + 1) * columns), (t * batch + row) * columns)
      mask[t * batch + row] = 1
    }
  }
  return { tensor: { data, shape: [time, batch, ...step] }, lengths, mask: { data: mask, shape: [time, batch] } }
}

/** A sequence as it was read here, once: a host tensor with at least one axis. */
function checkSequence<Data extends FloatArray | Int32Array>(row: number, sequence: Tensor<Data>): Tensor<Data> {
  const tensor = checkIsHostTensor('pad sequences', `row ${row}`, sequence) as Tensor<Data>
  if (tensor.shape.length === 0) checkShape('pad sequences', `row ${row}`, tensor.shape, ['T', '…'])
  return tensor
}
