import type { BackendTensor } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { GradientAccumulator, weightOf } from '../../src/loop/gradient_accumulator.js'

const NONE = { loss: 0, gradients: [] }

describe('weightOf', () => {
  it.each<[string, unknown, number | undefined, number]>([
    ['the given number', [1, 2, 3], 0.5, 0.5],
    ['0, which masks a batch', [1, 2, 3], 0, 0],
    ['the rows of an array', ['a', 'b', 'c'], undefined, 3],
    ['the rows of its items', { items: [1, 2], tensor: {} }, undefined, 2],
    ['0 for an array without rows', [], undefined, 0],
    ['1 for a batch whose rows are not known', { tensor: {} }, undefined, 1],
    ['1 for items of another kind', { items: 7 }, undefined, 1],
    ['1 for no batch at all', undefined, undefined, 1],
    ['1 for null', null, undefined, 1],
  ])('is %s', (_, batch, weight, expected) => {
    expect(weightOf(batch, { ...NONE, weight })).toBe(expected)
  })

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('refuses %d', (weight) => {
    expect(() => weightOf([1], { ...NONE, weight })).toThrow(coded('ERR_BATCH_WEIGHT', { weight }))
  })
})

/** An accumulator of one variable of two elements, and a result of a batch for it. */
function oneVariable() {
  const backend = openReferenceBackend()
  const accumulator = new GradientAccumulator(backend, [{ name: 'x', value: backend.zeros([2]) }])
  const result = (loss: number, weight: number, ...elements: [number, number]) => ({
    loss,
    weight,
    gradients: [backend.tensor({ data: Float32Array.from(elements), shape: [2] })],
  })
  const read = async ([mean]: readonly BackendTensor[]) => [...((await mean?.read())?.data ?? [])]
  return { backend, accumulator, result, read }
}

describe('GradientAccumulator', () => {
  it('takes the mean by the weights of the batches', async () => {
    const { backend, accumulator, result, read } = oneVariable()
    accumulator.add(result(1, 1, 4, 8), undefined)
    accumulator.add(result(5, 3, 0, -8), undefined)
    expect(accumulator.weight).toBe(4)
    expect(await read(accumulator.mean())).toEqual([1, -4])
    expect(accumulator.takeLosses()).toEqual([
      { loss: 1, weight: 1 },
      { loss: 5, weight: 3 },
    ])
    expect(accumulator.takeLosses()).toEqual([])
    backend.dispose()
  })

  it('passes over batches of weight 0, also where their gradients are NaN', async () => {
    const { backend, accumulator, result, read } = oneVariable()
    accumulator.add(result(Number.NaN, 0, Number.NaN, Number.NaN), undefined)
    accumulator.add(result(1, 2, 6, 3), undefined)
    accumulator.add(result(Number.NaN, 0, Number.NaN, 1), undefined)
    accumulator.add(result(1, 1, 0, 0), undefined)
    expect(await read(accumulator.mean())).toEqual([4, 2])
    backend.dispose()
  })

  it('gives the same mean when it is requested twice', async () => {
    const { backend, accumulator, result, read } = oneVariable()
    accumulator.add(result(1, 1, 2, 0), undefined)
    accumulator.add(result(1, 1, 4, 2), undefined)
    const first = await read(accumulator.mean())
    expect(first).toEqual([3, 1])
    expect(await read(accumulator.mean())).toEqual(first)
    backend.dispose()
  })

  it('disposes all tensors that it was given and made, losses on the executor among them', () => {
    const { backend, accumulator, result } = oneVariable()
    const before = backend.stats().tensors
    for (const weight of [0, 2, 1]) {
      const loss = backend.tensor({ data: Float32Array.of(1), shape: [] })
      accumulator.add({ ...result(0, weight, 1, 1), loss }, undefined)
    }
    accumulator.mean()
    expect(backend.stats().tensors).toBeGreaterThan(before)
    accumulator[Symbol.dispose]()
    accumulator[Symbol.dispose]()
    expect(backend.stats().tensors).toBe(before)
    backend.dispose()
  })

  it('disposes a result that it refuses, and keeps the sums before', async () => {
    const { backend, accumulator, result, read } = oneVariable()
    accumulator.add(result(1, 1, 2, 4), undefined)
    const before = backend.stats().tensors
    const loss = backend.tensor({ data: Float32Array.of(1), shape: [] })
    expect(() => accumulator.add({ ...result(0, -1, 1, 1), loss }, undefined)).toThrow(coded('ERR_BATCH_WEIGHT'))
    const other = () => [backend.zeros([3])]
    expect(() => accumulator.add({ loss: 1, gradients: other() }, undefined)).toThrow(coded('ERR_SHAPE'))
    const many = () => [...result(0, 1, 1, 1).gradients, ...other()]
    expect(() => accumulator.add({ loss: 1, gradients: many() }, undefined)).toThrow(coded('ERR_GRADIENT_COUNT'))
    expect(() => accumulator.add({ loss: 1, gradients: [] }, undefined)).toThrow(coded('ERR_GRADIENT_COUNT'))
    expect(backend.stats().tensors).toBe(before)
    expect([accumulator.weight, await read(accumulator.mean())]).toEqual([1, [2, 4]])
    expect(accumulator.takeLosses()).toEqual([{ loss: 1, weight: 1 }])
    backend.dispose()
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no loss', { gradients: [] }],
    ['a loss of text', { loss: '1', gradients: [] }],
    ['one gradient that is not in a list', { loss: 1, gradients: {} }],
    ['gradients of the host', { loss: 1, gradients: [{ data: new Float32Array(2), shape: [2] }] }],
  ])('refuses %s for a result', (_, result) => {
    const { backend, accumulator } = oneVariable()
    expect(() => accumulator.add(result as never, undefined)).toThrow(coded('ERR_NOT_A_BATCH_RESULT'))
    expect(accumulator.takeLosses()).toEqual([])
    backend.dispose()
  })
})
