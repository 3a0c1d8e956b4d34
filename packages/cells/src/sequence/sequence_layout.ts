import { elementCount } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import { copyRow } from '@cudnn-rnn/ops/executor'
import type { FloatTensor } from '../cell/float_tensor.js'

/** A sequence as one tensor [T,B,I], or as a list of T tensors [B,I]. */
export type SequenceInput = FloatTensor | readonly FloatTensor[]

/** One tensor [T,…] of T equal steps; a single tensor is returned unchanged. */
export function stackSteps(action: string, name: string, sequence: SequenceInput): FloatTensor {
  if (!isList(sequence)) return sequence
  const first = sequence[0]
  if (first === undefined) {
    throw codedTypeError(
      'ERR_EMPTY_SEQUENCE',
      `Cannot ${action} as ${name} must have at least one time step: current list is empty`,
      { argument: name },
    )
  }
  const size = elementCount(first.shape)
  const stacked = { data: sameKind(first, sequence.length * size), shape: [sequence.length, ...first.shape] }
  for (const [t, step] of sequence.entries()) stacked.data.set(step.data, t * size)
  return stacked
}

/** The steps of [T,…], each in a separate array. */
export function unstackSteps({ data, shape }: FloatTensor): FloatTensor[] {
  const [time = 0, ...stepShape] = shape
  const size = elementCount(stepShape)
  return Array.from({ length: time }, (_, t) => ({ data: data.slice(t * size, (t + 1) * size), shape: stepShape }))
}

/** Whether a sequence came as a list, in which form its results go back. */
export function isList(sequence: SequenceInput): sequence is readonly FloatTensor[] {
  return Array.isArray(sequence)
}

/** [T,B,N] to [B,T,N], and back. */
export function exchangeTimeAndBatch(sequence: FloatTensor): FloatTensor {
  const [time, batch] = sequence.shape as [number, number, number]
  return gatherRows(sequence, [batch, time], (row) => (row % time) * batch + Math.floor(row / time))
}

/** TensorFlow's `reverse_sequence` on [T,B,N]: each row's first `length` steps turn around, the rest stays. */
export function reverseSteps(sequence: FloatTensor, lengths: Int32Array | null): FloatTensor {
  const [time, batch] = sequence.shape as [number, number, number]
  return gatherRows(sequence, [time, batch], (row) => {
    const b = row % batch
    const t = (row - b) / batch
    const length = lengths === null ? time : lengths[b]
    return (t < length ? length - 1 - t : t) * batch + b
  })
}

/** The same [T,B,N] with zeros past each row's length, so that padding, NaN included, reaches neither sums nor gradients. */
export function withoutPadding(sequence: FloatTensor, lengths: Int32Array | null): FloatTensor {
  if (lengths === null) return { data: sequence.data.slice(), shape: sequence.shape }
  const [, batch] = sequence.shape as [number, number, number]
  const { shape } = sequence
  return gatherRows(sequence, [shape[0], batch], (row) => (Math.floor(row / batch) < lengths[row % batch] ? row : -1))
}

/** Joins [T,B,M] and [T,B,N] to [T,B,M+N]. */
export function joinColumns(left: FloatTensor, right: FloatTensor): FloatTensor {
  const [time, batch, m] = left.shape as [number, number, number]
  const n = right.shape[2]
  const data = sameKind(left, time * batch * (m + n))
  for (let row = 0; row < time * batch; row++) {
    copyRow(data, row * (m + n), left.data, row * m, m)
    copyRow(data, row * (m + n) + m, right.data, row * n, n)
  }
  return { data, shape: [time, batch, m + n] }
}

/** Columns [begin, begin + count) of [T,B,N]. */
export function takeColumns({ data, shape }: FloatTensor, begin: number, count: number): FloatTensor {
  const [time, batch, columns] = shape as [number, number, number]
  const taken = sameKind({ data, shape }, time * batch * count)
  for (let row = 0; row < time * batch; row++) copyRow(taken, row * count, data, row * columns + begin, count)
  return { data: taken, shape: [time, batch, count] }
}

/** Rows of a rank-3 tensor in another order; a source of -1 gives zeros. */
function gatherRows(
  sequence: FloatTensor,
  [first, second]: [number, number],
  sourceOf: (row: number) => number,
): FloatTensor {
  const columns = sequence.shape[2]
  const data = sameKind(sequence, sequence.data.length)
  for (let row = 0; row < first * second; row++) {
    const source = sourceOf(row)
    if (source >= 0) copyRow(data, row * columns, sequence.data, source * columns, columns)
  }
  return { data, shape: [first, second, columns] }
}

function sameKind({ data }: FloatTensor, length: number): FloatTensor['data'] {
  return data instanceof Float64Array ? new Float64Array(length) : new Float32Array(length)
}
