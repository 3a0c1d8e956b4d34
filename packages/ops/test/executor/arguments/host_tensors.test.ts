import { expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { full, tensor, zeros } from '../../../src/executor/index.js'

it('makes tensors of lists and of typed arrays', () => {
  expect(tensor([[[1], [2]]])).toEqual({ data: Float32Array.of(1, 2), shape: [1, 2, 1] })
  expect(tensor(3)).toEqual({ data: Float32Array.of(3), shape: [] })
  expect(tensor([])).toEqual({ data: new Float32Array(), shape: [0] })
  expect(tensor([1, 2, 3, 4], [2, 2]).shape).toEqual([2, 2])
  const ids = Int32Array.of(1, 2)
  expect(tensor(ids, [2, 1])).toEqual({ data: ids, shape: [2, 1] })
  expect(tensor(ids).data).toBe(ids)
  expect(full([2], 0.5).data).toEqual(Float32Array.of(0.5, 0.5))
  expect(zeros([])).toEqual({ data: new Float32Array(1), shape: [] })
})

it('refuses other values', () => {
  const endless: unknown[] = []
  endless.push(endless)
  const wrong = [
    ['ERR_SHAPE', () => tensor([[1, 2], [3]])],
    ['ERR_SHAPE', () => tensor([[1], 2])],
    ['ERR_SHAPE', () => tensor([1, 2], [3])],
    ['ERR_SHAPE', () => tensor([1], [-1])],
    ['ERR_SHAPE', () => full('x' as never, 1)],
    ['ERR_SHAPE', () => zeros([1.5])],
    ['ERR_NOT_A_TENSOR', () => tensor([1, 'x'] as never)],
    ['ERR_NOT_A_TENSOR', () => tensor(undefined as never)],
    ['ERR_NOT_A_TENSOR', () => tensor(endless as never)],
    ['ERR_NOT_A_TENSOR', () => full([1], 'x' as never)],
    ['ERR_DTYPE', () => tensor(Uint8Array.of(1) as never)],
  ] as const
  for (const [code, call] of wrong) expect(call).toThrow(coded(code))
})
