import { Variable } from '@cudnn-rnn/models'
import type { Backend } from '@cudnn-rnn/ops'
import { type GradientTape, valueAndGrad } from '@cudnn-rnn/train'
import { expect } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openReference, type TestedExecutor, testedExecutors } from '../src/executors.js'
import type { Program } from '../src/program.js'

export const [T, B, I, H] = [4, 3, 2, 5]
export const host = (shape: readonly number[], at = 1) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => Math.sin(at + 1.7 * k)),
  shape,
})
export const variable = (backend: Backend, shape: readonly number[], at = 1) =>
  new Variable(backend, backend.tensor(host(shape, at)), `v${at}`)
export const squares = { data: new Float32Array(B * 3), shape: [B, 3] }

export const reference: TestedExecutor = {
  name: 'reference',
  sharesMasks: true,
  open: async (program) => openReference(program),
}

export const executors = [reference, ...testedExecutors().found].filter(({ name }) => name !== 'cudnn 8')

type Left = (body: (backend: Backend) => Promise<unknown>, tensors: number) => Promise<void>

/** Runs a body on an executor; afterwards nothing but its variables may be left. */
export function leavesNothing({ open, inspect }: TestedExecutor): Left {
  return async (body, tensors) => {
    const backend = await open({ dtype: 'float32', threads: 2 } as Program)
    try {
      await body(backend)
      expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
    } finally {
      backend.dispose()
      await inspect?.(backend)
    }
  }
}

/** Expects a code from a function on a tape, which leaves nothing. */
export function refusesBy(left: Left) {
  return (code: string, f: (t: GradientTape, p: Variable) => unknown) =>
    left(async (backend) => {
      const p = variable(backend, [2, 3])
      await expect(valueAndGrad(f as never)(p as never)).rejects.toThrow(coded(code))
    }, 1)
}
