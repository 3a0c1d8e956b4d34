import type { FloatArray } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/executor-kit'

/**
 * A copy of a sequence tensor [T,B,·] with zeros at every step past a row's length. The large products run over padded
 * steps too, with gradients of 0 there, and 0 times whatever the caller left there must be 0: not so for NaN.
 */
export function withoutPadding(sequence: FloatArray, { time, batch, sequenceLengths }: RnnPassSizes): FloatArray {
  const copy = sequence.slice()
  const columns = sequence.length / (time * batch)
  for (const [row, length] of (sequenceLengths ?? []).entries()) {
    for (let t = length; t < time; t++) copy.fill(0, (t * batch + row) * columns, (t * batch + row + 1) * columns)
  }
  return copy
}
