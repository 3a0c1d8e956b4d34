import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { openWeightFile } from '@cudnn-rnn/interop'
import { expect } from 'vitest'
import { modelPath } from '../../../scripts/testing/trained_models.mjs'

export type Numbers = Tensor<FloatArray>

/** The tensors of a `.npz` file. */
export async function reference(path: string): Promise<Readonly<Record<string, Numbers>>> {
  await using file = await openWeightFile(modelPath(path))
  return Object.fromEntries(
    await Promise.all(file.tensors.map(async ({ name }) => [name, await file.tensor(name)] as const)),
  )
}

/** The part of `tensor` at index `place` of its first axis. */
export function row({ data, shape: [, ...shape] }: Numbers, place: number): Numbers {
  const size = elementCount(shape)
  return { data: data.slice(place * size, (place + 1) * size), shape }
}

/** The largest difference of elements; NaN if one is not a number. */
export function difference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length)
  return Array.from(a).reduce((most, value, at) => Math.max(most, Math.abs(value - (b[at] ?? Number.NaN))), 0)
}
