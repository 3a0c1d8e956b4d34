import type { FloatArray } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/ops/executor'

/**
 * Zeroes every step past a row's length of a sequence tensor [T,B,·], and returns it. The large products run over padded
 * steps too, with gradients of 0 there, and 0 times the caller's values there must be 0: not so for NaN.
 */
export function withoutPadding(sequence: FloatArray, { time, batch, sequenceLengths }: RnnPassSizes): FloatArray {
  const columns = sequence.length / (time * batch)
  for (const [row, length] of (sequenceLengths ?? []).entries()) {
    for (let t = length; t < time; t++) sequence.fill(0, (t * batch + row) * columns, (t * batch + row + 1) * columns)
  }
  return sequence
}
