import { copyRow } from '@cudnn-rnn/ops/executor'

/** Sizes of sequences whose steps have `columns` elements. */
export interface SequenceSizes {
  readonly time: number
  readonly batch: number
  readonly columns: number
  /** Time-major order has the last step first. */
  readonly reversed: boolean
}

/** [B,T,N] as [T,B,N], or with a column of ones behind as [T,B,N+1]. */
export function timeMajor(values: Float32Array, sizes: SequenceSizes, ones = false): Float32Array {
  const { time, batch, columns } = sizes
  const stride = ones ? columns + 1 : columns
  const result = new Float32Array(time * batch * stride)
  if (ones) for (let at = columns; at < result.length; at += stride) result[at] = 1
  forEachStep(sizes, (inBatch, inTime) => copyRow(result, inTime * stride, values, inBatch * columns, columns))
  return result
}

/** The inverse of {@link timeMajor}. */
export function batchMajor(values: Float32Array, sizes: SequenceSizes): Float32Array {
  const { columns } = sizes
  const result = new Float32Array(values.length)
  forEachStep(sizes, (inBatch, inTime) => copyRow(result, inBatch * columns, values, inTime * columns, columns))
  return result
}

function forEachStep({ time, batch, reversed }: SequenceSizes, visit: (inBatch: number, inTime: number) => void): void {
  for (let b = 0; b < batch; b++) {
    for (let t = 0; t < time; t++) visit(b * time + (reversed ? time - 1 - t : t), t * batch + b)
  }
}
