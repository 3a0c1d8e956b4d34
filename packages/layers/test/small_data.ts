import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import type { LayersModel } from '../src/index.js'

/** value[k] = s·sin(w·(k+1) + p), as in fixtures/rnn. */
export function waves(
  shape: readonly number[],
  [s, w, p] = [0.8, 0.37, 0.1],
  type = Float64Array,
): Tensor<Float64Array> {
  const count = elementCount(shape)
  return { data: type.from({ length: count }, (_, k) => s * Math.sin(w * (k + 1) + p)), shape }
}

/** Sentences of class ids in 1..4; the label is whether a 4 is in them. */
export const SENTENCES = Array.from({ length: 24 }, (_, n) => {
  const input = Array.from({ length: 3 + (n % 4) }, (_, t) => 1 + ((n * 7 + t * 5) % (n % 2 === 0 ? 3 : 4)))
  return { input, label: Number(input.includes(4)) }
})

/** The elements of a model's variables, in their order. */
export async function values(model: LayersModel): Promise<number[][]> {
  const read = await Promise.all(model.variables.map(({ value }) => value.read()))
  return read.map(({ data }) => Array.from(data))
}
