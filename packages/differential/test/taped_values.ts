import { Variable } from '@cudnn-rnn/models'
import type { Backend } from '@cudnn-rnn/ops'
import { openReference, type TestedExecutor, testedExecutors } from '../src/executors.js'

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
