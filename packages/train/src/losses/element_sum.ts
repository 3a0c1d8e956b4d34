import type { FloatArray } from '@cudnn-rnn/canonical'

/** The sum of all elements, in double precision. */
export function elementSum(data: FloatArray): number {
  let sum = 0
  for (let k = 0; k < data.length; k++) sum += data[k]
  return sum
}
