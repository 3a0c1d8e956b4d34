import { expect, it } from 'vitest'
import { pixels } from '../src/drawing/heat_map.js'

it('pixels are the paper at 0, the accent at the limit and beyond, and blue below 0', () => {
  const light = [...pixels(Float32Array.of(0, 2, 9, -2, Number.NaN), 2, false)]
  const colors = [0, 1, 2, 3, 4].map((index) => light.slice(4 * index, 4 * index + 4))
  expect(colors).toEqual([
    [0xfc, 0xfc, 0xfa, 255],
    [0xb8, 0x46, 0x1e, 255],
    [0xb8, 0x46, 0x1e, 255],
    [0x3a, 0x6e, 0xa5, 255],
    [0xfc, 0xfc, 0xfa, 255],
  ])
  expect([...pixels(Float32Array.of(0), 1, true)]).toEqual([0x16, 0x19, 0x1d, 255])
})

it('pixels of a matrix of zeros are the paper', () => {
  expect([...pixels(new Float32Array(1), 0, false)]).toEqual([0xfc, 0xfc, 0xfa, 255])
})
