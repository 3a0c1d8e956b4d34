import type { FloatTensor } from '@cudnn-rnn/cells'

/**
 * TensorFlow's `reverse_sequence` of [T,B,N]: in each row the steps before its length in reverse, the others where they are.
 *
 * @param lengths one per row; null when every row has T steps.
 */
export function reverseRows(
  { data, shape }: FloatTensor,
  lengths: readonly number[] | Int32Array | null | undefined,
): FloatTensor {
  const [T, B, N] = shape as [number, number, number]
  const reversed = data.slice()
  for (let b = 0; b < B; b++) {
    const length = lengths?.[b] ?? T
    for (let t = 0; t < length; t++) {
      const from = ((length - 1 - t) * B + b) * N
      reversed.set(data.subarray(from, from + N), (t * B + b) * N)
    }
  }
  return { data: reversed, shape }
}
