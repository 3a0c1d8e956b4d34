import type { FloatArray } from '@cudnn-rnn/canonical'

/**
 * The element at `index`, which must exist. For arrays of floats alone: V8 compiles the access to a load as long as it has
 * seen few kinds of arrays here, and to a call that takes several times as long otherwise.
 *
 * @throws RangeError for an index outside the array, which is a mistake in this project's code
 */
export function floatAt(values: FloatArray, index: number): number {
  const value = values[index]
  if (value === undefined) throw new RangeError(`Cannot read element ${index} of ${values.length}`)
  return value
}
