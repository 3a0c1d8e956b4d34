import type { BackendTensor } from '@cudnn-rnn/backend'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { meanOverRanks, type RankCalls } from '../../src/loop/mean_over_ranks.js'

/** Two ranks, of which the other has `weight`, and `value` in every element of its weighted gradients and loss. */
function otherRank(backend: ReturnType<typeof openReferenceBackend>, weight: number, value: number): RankCalls {
  return {
    totalWeight: async (own) => own + weight,
    async tensorSum(tensors) {
      for (const tensor of tensors) {
        const data = new Float32Array(tensor.shape.reduce((a, b) => a * b, 1)).fill(value)
        backend.ops.accumulate(tensor as BackendTensor, { data, shape: tensor.shape })
      }
    },
  }
}

const valuesOf = async (tensors: readonly BackendTensor[]) =>
  await Promise.all(tensors.map(async (tensor) => [...(await tensor.read()).data]))

it('weights the gradients of a rank in their own memory', async () => {
  using backend = openReferenceBackend()
  const variables = [2, 1].map((length, k) => ({ name: `v${k}`, value: backend.zeros([length]) }))
  const gradients = [[4, 8], [2]].map((data) => backend.tensor({ data: Float32Array.from(data), shape: [data.length] }))
  const own = { losses: [{ loss: 8, weight: 3 }], gradients, weight: 3 }
  const mean = await meanOverRanks(backend, variables, otherRank(backend, 1, 0.5), own, undefined)
  expect(mean.gradients).toBe(gradients)
  // 3/4 of the own ones, and what the other rank adds.
  expect(await valuesOf(mean.gradients)).toEqual([[3.5, 6.5], [2]])
  expect(await valuesOf(mean.losses.map(({ loss }) => loss as BackendTensor))).toEqual([[6.5]])
})

it('takes new tensors where one tensor is the gradient of two variables, or no gradient counts', async () => {
  using backend = openReferenceBackend()
  const variables = ['a', 'b'].map((name) => ({ name, value: backend.zeros([1]) }))
  const both = backend.tensor({ data: Float32Array.of(4), shape: [1] })
  const calls = otherRank(backend, 1, 1)
  const shared = { losses: [], gradients: [both, both], weight: 1 }
  const mean = await meanOverRanks(backend, variables, calls, shared, undefined)
  expect(await valuesOf(mean.gradients)).toEqual([[3], [3]])
  expect(await valuesOf([both])).toEqual([[4]])
  const none = await meanOverRanks(backend, variables, calls, { losses: [], gradients: [], weight: 0 }, undefined)
  expect(await valuesOf(none.gradients)).toEqual([[1], [1]])
})
