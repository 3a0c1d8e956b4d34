import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { transpose } from '../../src/index.js'

const matrix = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] }

it('transpose reverses axes, and orders them as requested', () => {
  expect(transpose(matrix)).toEqual({ data: Float32Array.of(1, 4, 2, 5, 3, 6), shape: [3, 2] })
  const cube = { data: Float64Array.from({ length: 24 }, (_, k) => k), shape: [2, 3, 4] }
  const turned = transpose(cube, [1, 2, 0])
  expect(turned.shape).toEqual([3, 4, 2])
  // turned[i,j,k] = cube[k,i,j]
  expect(turned.data[(1 * 4 + 2) * 2 + 1]).toBe(cube.data[(1 * 3 + 1) * 4 + 2])
  expect(transpose(turned, [2, 0, 1])).toEqual(cube)
})

it('transpose refuses other axes, other sizes and other values', () => {
  expect(() => transpose(matrix, [0, 0])).toThrow(coded('ERR_INVALID_OPTION'))
  expect(() => transpose(matrix, [0, 1, 2])).toThrow(coded('ERR_INVALID_OPTION'))
  expect(() => transpose(matrix, [1, 0.5])).toThrow(coded('ERR_INVALID_OPTION'))
  expect(() => transpose({ data: matrix.data, shape: [2, 2] })).toThrow(coded('ERR_SHAPE'))
  expect(() => transpose(undefined as never)).toThrow(coded('ERR_NOT_A_TENSOR'))
  expect(() => transpose({ data: Int32Array.of(1), shape: [1] } as never)).toThrow(coded('ERR_DTYPE'))
})
