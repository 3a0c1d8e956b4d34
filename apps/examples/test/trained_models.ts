import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Tensor } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { describe } from 'vitest'

/** Trained models of other projects, in a folder beside the repository if present; they are not part of it. */
const FOLDER = fileURLToPath(new URL('../../../../shared/models/', import.meta.url))

export function modelPath(path: string): string {
  return `${FOLDER}${path}`
}

/** A suite that needs those models; if they are absent it is skipped, which its title and the count say. */
export function describeWithModels(title: string, suite: () => void): void {
  const isThere = existsSync(FOLDER)
  describe.skipIf(!isThere)(isThere ? title : `${title} (skipped: no trained models in ../shared/models)`, () => {
    if (isThere) suite()
  })
}

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
