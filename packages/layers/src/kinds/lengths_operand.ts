import type { Tensor } from '@cudnn-rnn/canonical'

/** Lengths of rows as operations take them. */
export function lengthsOperand(lengths: Int32Array | null): Tensor<Int32Array> | null {
  return lengths && { data: lengths, shape: [lengths.length] }
}
