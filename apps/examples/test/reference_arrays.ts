import type { Tensor } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { modelPath } from '../../../scripts/testing/trained_models.mjs'

/** An array of a NumPy archive of reference numbers. */
export async function referenceArray(path: string, name: string): Promise<Tensor<Float32Array>> {
  const file = await openWeightFile(modelPath(path))
  try {
    const { read, shape } = file.tensors.find((candidate) => candidate.name === name)!
    return { data: (await read()) as Float32Array, shape }
  } finally {
    await file.close()
  }
}

/** The largest difference; fails the caller's expectation when lengths differ. */
export function largestDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY
  return Array.from(actual).reduce((worst, value, k) => Math.max(worst, Math.abs(value - expected[k])), 0)
}
