import { localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it, vi } from 'vitest'
import { sumThroughHost } from '../../src/loop/sum_through_host.js'

/** Sums tensors of 1 and 2 elements, rank r's being 1 + r, 10 + r and 20 + r, as often as `elements` has entries. */
async function summed(size: number, dtype: 'float32' | 'float64', rounds = 1) {
  return await Promise.all(
    localCommunicators(size).map(async (communicator, rank) => {
      using backend = openReferenceBackend({ dtype })
      const array = dtype === 'float64' ? Float64Array : Float32Array
      const tensors = [[1 + rank], [10 + rank, 20 + rank]].map((elements) =>
        backend.tensor({ data: array.from(elements), shape: [elements.length] }),
      )
      const sum = sumThroughHost(backend, communicator)
      for (let round = 0; round < rounds; round++) await sum(tensors)
      await sum(tensors.slice(0, 0))
      const elements = await Promise.all(tensors.map(async (tensor) => [...(await tensor.read()).data]))
      return { elements, calls: communicator.calls, tensors: backend.stats().tensors }
    }),
  )
}

describe('sumThroughHost', () => {
  it.each(['float32', 'float64'] as const)('adds tensors of %s by one call for all', async (dtype) => {
    const rank = { elements: [[6], [33, 63]], calls: 2, tensors: 2 }
    expect(await summed(3, dtype)).toEqual([rank, rank, rank])
  })

  it('adds the results of the sum before, not the elements of its copy', async () => {
    const [first] = await summed(2, 'float64', 3)
    // Each round doubles the sum after the first.
    expect(first?.elements).toEqual([[12], [84, 164]])
  })

  it('hands the wire on', async () => {
    using backend = openReferenceBackend()
    const allReduce = vi.fn(async () => {})
    const tensor = backend.zeros([2])
    await sumThroughHost(backend, { allReduce })([tensor], { wire: 'bfloat16' })
    expect(allReduce).toHaveBeenCalledWith(new Float32Array(2), { wire: 'bfloat16' })
  })

  it('leaves the tensors as they are where the sum fails', async () => {
    using backend = openReferenceBackend()
    const tensor = backend.tensor({ data: Float32Array.of(1, 2), shape: [2] })
    const allReduce = async (copy: unknown) => {
      ;(copy as Float32Array).fill(9)
      throw new Error('a rank has ended')
    }
    await expect(sumThroughHost(backend, { allReduce })([tensor])).rejects.toThrow('a rank has ended')
    expect((await tensor.read()).data).toEqual(Float32Array.of(1, 2))
  })
})
