import { type Backend, type BackendTensor, isBackendTensor } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { meanOverRanks, type RankCalls } from '../../src/loop/mean_over_ranks.js'

const numbersOf = async (tensor: BackendTensor) => [...(await tensor.read()).data]
const tensorOf = (backend: Backend, ...data: readonly number[]) =>
  backend.tensor({ data: Float32Array.from(data), shape: data.length === 1 ? [] : [data.length] })

/** The calls of a rank beside others of this weight, and a record of its operands. */
function ranks(others: number) {
  const calls: { tensors: number[][]; wire: string | undefined }[] = []
  const weights: number[] = []
  const rankCalls: RankCalls = {
    totalWeight: async (weight) => {
      weights.push(weight)
      return weight + others
    },
    tensorSum: async (tensors, options) => {
      const own = await Promise.all(tensors.map(numbersOf))
      calls.push({ tensors: own, wire: options?.wire })
    },
  }
  return { rankCalls, calls, weights }
}

const variablesOf = (backend: Backend) => [
  { name: 'kernel', value: backend.zeros([2]) },
  { name: 'scale', value: backend.zeros([]) },
]

describe('meanOverRanks', () => {
  it('weights gradients, in their own memory, and losses by the share of this rank in the weight of all', async () => {
    using backend = openReferenceBackend()
    const { rankCalls, calls, weights } = ranks(3)
    const gradients = [tensorOf(backend, 8, -4), tensorOf(backend, 2)]
    const own = { losses: [{ loss: 12, weight: 1 }], gradients, weight: 1 }
    const means = await meanOverRanks(backend, variablesOf(backend), rankCalls, own, undefined)
    expect(weights).toEqual([1])
    // A quarter of each, in one call: the loss is the last.
    expect(calls).toEqual([{ tensors: [[2, -1], [0.5], [3]], wire: undefined }])
    expect(await Promise.all(means.gradients.map(numbersOf))).toEqual([[2, -1], [0.5]])
    expect(await numbersOf(means.losses[0]?.loss as BackendTensor)).toEqual([3])
    expect(means.losses.map(({ weight }) => weight)).toEqual([1])
    expect(means.gradients).toBe(gradients)
  })

  it('weighs the losses of several batches, and passes over one that does not count', async () => {
    using backend = openReferenceBackend()
    const { rankCalls, calls } = ranks(0)
    const losses = [
      { loss: 6, weight: 1 },
      { loss: tensorOf(backend, 2), weight: 3 },
      { loss: Number.NaN, weight: 0 },
    ]
    const own = { losses, gradients: [tensorOf(backend, 0, 0), tensorOf(backend, 0)], weight: 4 }
    await meanOverRanks(backend, variablesOf(backend), rankCalls, own, undefined)
    // 6·1/4 + 2·3/4
    expect(calls[0]?.tensors.at(-1)).toEqual([3])
  })

  it('takes part with zeros where this rank has no batches', async () => {
    using backend = openReferenceBackend()
    const { rankCalls, calls } = ranks(5)
    const own = { losses: [], gradients: [], weight: 0 }
    const means = await meanOverRanks(backend, variablesOf(backend), rankCalls, own, undefined)
    expect(calls).toEqual([{ tensors: [[0, 0], [0], [0]], wire: undefined }])
    expect(means.gradients.map(({ shape }) => shape)).toEqual([[2], []])
  })

  it('sends the gradients in the form of the wire, and the loss as it is', async () => {
    using backend = openReferenceBackend()
    const { rankCalls, calls } = ranks(0)
    const own = {
      ...{ losses: [{ loss: 0.3, weight: 1 }], weight: 1 },
      gradients: [tensorOf(backend, 1, 2), tensorOf(backend, 3)],
    }
    await meanOverRanks(backend, variablesOf(backend), rankCalls, own, 'bfloat16')
    expect(calls).toEqual([
      { tensors: [[1, 2], [3]], wire: 'bfloat16' },
      { tensors: [[Math.fround(0.3)]], wire: undefined },
    ])
  })

  it('takes over the losses, and makes one tensor, for the loss', async () => {
    using backend = openReferenceBackend()
    const variables = variablesOf(backend)
    const gradients = [tensorOf(backend, 1, 2), tensorOf(backend, 3)]
    const before = backend.stats().tensors
    const own = { losses: [{ loss: tensorOf(backend, 1), weight: 1 }], gradients, weight: 1 }
    const means = await meanOverRanks(backend, variables, ranks(0).rankCalls, own, undefined)
    expect(backend.stats().tensors).toBe(before + 1)
    expect(means.losses.map(({ loss }) => isBackendTensor(loss))).toEqual([true])
  })

  it('makes new gradients where one tensor is the gradient of two variables', async () => {
    using backend = openReferenceBackend()
    const variables = ['a', 'b'].map((name) => ({ name, value: backend.zeros([]) }))
    const both = tensorOf(backend, 8)
    const own = { losses: [], gradients: [both, both], weight: 1 }
    const means = await meanOverRanks(backend, variables, ranks(3).rankCalls, own, undefined)
    expect(await Promise.all(means.gradients.map(numbersOf))).toEqual([[2], [2]])
    expect(await numbersOf(both)).toEqual([8])
  })

  it.each<[string, (backend: Backend) => BackendTensor[], string]>([
    ['a gradient too few', (backend) => [tensorOf(backend, 1, 2)], 'ERR_GRADIENT_COUNT'],
    ['a gradient of another shape', (backend) => [tensorOf(backend, 1, 2, 3), tensorOf(backend, 1)], 'ERR_SHAPE'],
  ])('refuses %s before it calls the other ranks, and leaves nothing', async (_, gradientsOf, code) => {
    using backend = openReferenceBackend()
    const variables = variablesOf(backend)
    const { rankCalls, calls, weights } = ranks(1)
    const gradients = gradientsOf(backend)
    const before = backend.stats().tensors
    const own = { losses: [{ loss: tensorOf(backend, 1), weight: 1 }], gradients, weight: 1 }
    await expect(meanOverRanks(backend, variables, rankCalls, own, undefined)).rejects.toThrow(coded(code))
    expect([calls, weights]).toEqual([[], []])
    expect(backend.stats().tensors).toBe(before)
  })

  it.each(['totalWeight', 'tensorSum'] as const)('leaves nothing where %s fails', async (name) => {
    using backend = openReferenceBackend()
    const variables = variablesOf(backend)
    const rankCalls = { ...ranks(1).rankCalls, [name]: () => Promise.reject(new Error('a rank has ended')) }
    const gradients = [tensorOf(backend, 1, 2), tensorOf(backend, 3)]
    const before = backend.stats().tensors
    const own = { losses: [{ loss: tensorOf(backend, 1), weight: 1 }], gradients, weight: 1 }
    await expect(meanOverRanks(backend, variables, rankCalls, own, undefined)).rejects.toThrow('a rank has ended')
    expect(backend.stats().tensors).toBe(before)
  })
})
