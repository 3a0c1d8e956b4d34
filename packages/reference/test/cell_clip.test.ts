import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { clipInitialCellGradients, clipInitialCells, storedCellClip } from '../src/cell_clip.js'

const lstm = (cellClip?: number) =>
  createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 1, inputSize: 1, ...(cellClip && { cellClip }) })

it('storedCellClip is the clip as the element type holds it', () => {
  // The float32 next to 0.1 is 13421773/2^27.
  expect(storedCellClip(lstm(0.1), (length) => new Float32Array(length))).toBe(13_421_773 / 2 ** 27)
  expect(storedCellClip(lstm(0.1), (length) => new Float64Array(length))).toBe(0.1)
})

it('storedCellClip is Infinity for none', () => {
  for (const allocate of [(n: number) => new Float32Array(n), (n: number) => new Float64Array(n)]) {
    expect(storedCellClip(lstm(), allocate)).toBe(Number.POSITIVE_INFINITY)
  }
})

it('clipInitialCells clamps both signs, and keeps NaN and the sign of zero', () => {
  const cells = Float64Array.of(0.5, -0.5, 0.25, Number.NaN, -0, Number.POSITIVE_INFINITY)
  clipInitialCells(cells, 0.25)
  expect([...cells]).toEqual([0.25, -0.25, 0.25, Number.NaN, -0, 0.25])
})

it('clipInitialCellGradients are 0 where the clip holds the state', () => {
  const gradients = Float64Array.of(1, 2, 3, 4)
  clipInitialCellGradients(gradients, Float64Array.of(0.25, -0.25, 0.2, Number.NaN), 0.25)
  expect([...gradients]).toEqual([0, 0, 3, 4])
})
