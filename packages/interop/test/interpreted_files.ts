import { elementCount } from '@cudnn-rnn/canonical'
import { expect } from 'vitest'
import type { WeightFile, WeightFormat } from '../src/index.js'

export type Shapes = Readonly<Record<string, readonly number[]>>

/** Every element of a tensor is its number in the file, from 1 on. */
export function fileOf(format: WeightFormat, shapes: Shapes): WeightFile {
  const tensors = Object.entries(shapes).map(([name, shape], index) => ({
    name,
    shape,
    dtype: 'float32',
    read: async () => new Float32Array(elementCount(shape)).fill(index + 1),
  }))
  return { format, path: 'made', tensors, close: async () => undefined }
}

export function only<Item>(list: readonly Item[]): Item {
  expect(list).toHaveLength(1)
  return list[0]!
}
