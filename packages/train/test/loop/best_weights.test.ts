import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { BestWeights } from '../../src/loop/best_weights.js'

/** A variable [2] of 1 and 2, and its best weights. */
function watched() {
  const backend = openReferenceBackend()
  const value = backend.tensor({ data: Float32Array.of(1, 2), shape: [2] })
  const best = new BestWeights(backend, [{ name: 'kernel', value }])
  const assign = (...elements: number[]) => backend.ops.assign(value, { data: Float32Array.from(elements), shape: [2] })
  const elements = async () => [...(await value.read()).data]
  return { backend, best, assign, elements }
}

describe('BestWeights', () => {
  it('gives back the values of the last best save', async () => {
    const { backend, best, assign, elements } = watched()
    assign(3, 4)
    await best.save('best')
    assign(5, 6)
    await best.save('latest')
    await best.restore([], 'best')
    expect(await elements()).toEqual([3, 4])
    backend.dispose()
  })

  it('gives back the values of the beginning where none was better', async () => {
    const { backend, best, assign, elements } = watched()
    assign(9, 9)
    await best.save('latest')
    await best.restore([], 'best')
    expect(await elements()).toEqual([1, 2])
    backend.dispose()
  })

  it('copies: a later update does not reach the best values', async () => {
    const { backend, best, assign, elements } = watched()
    await best.save('best')
    assign(7, 7)
    await best.restore([], 'best')
    assign(8, 8)
    await best.restore([], 'best')
    expect(await elements()).toEqual([1, 2])
    backend.dispose()
  })

  it('restores nothing at the beginning of a training, and disposes its copies alone', async () => {
    const { backend, best, elements } = watched()
    expect(await best.restore([])).toBeUndefined()
    best[Symbol.dispose]()
    expect(backend.stats().tensors).toBe(1)
    expect(await elements()).toEqual([1, 2])
    backend.dispose()
  })
})
