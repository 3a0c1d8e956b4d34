import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { arithmeticOf, type Precision } from '../src/device/precision.js'
import { persistentShapes } from '../src/rnn/persistent_shape.js'

const H200 = { multiProcessors: 132, computeCapability: 90 }

const shapesOf = (
  units: number,
  batch: number,
  precision: Precision,
  device = H200,
  cellMode: 'lstm' | 'gru' = 'lstm',
) =>
  persistentShapes(
    createRnnDescriptor({ cellMode, numLayers: 1, numUnits: units, inputSize: 8 }),
    arithmeticOf('float32', precision),
    { time: 50, batch, sequenceLengths: null },
    device,
  )

it('all blocks of a shape run at the same time, and hold all units and rows', () => {
  for (const precision of ['float32', 'tf32', 'bfloat16', 'float16'] as const) {
    for (const units of [64, 128, 192, 512, 1024, 2048]) {
      for (const batch of [1, 5, 16, 64, 256]) {
        for (const shape of shapesOf(units, batch, precision)) {
          expect(shape.blocks * shape.units).toBe(units)
          expect(shape.groups * shape.rows).toBeGreaterThanOrEqual(batch)
          expect(shape.blocks * shape.groups).toBeLessThanOrEqual(132)
          expect(Math.max(shape.forwardBytes, shape.backwardBytes)).toBeLessThanOrEqual(96 * 1024)
        }
      }
    }
  }
})

it.each<[number, number, Precision, boolean]>([
  [128, 1, 'float32', true],
  [512, 16, 'float32', true],
  [1024, 1, 'float32', true],
  [1024, 16, 'bfloat16', true],
  // The weights do not fit into the registers of 132 multiprocessors.
  [2048, 1, 'float32', false],
  [60, 1, 'float32', false],
])('%i units, %i rows, %s: %s', (units, batch, precision, isThere) => {
  expect(shapesOf(units, batch, precision).length > 0).toBe(isThere)
})

it('a GPU with few multiprocessors, or without the instructions, has none', () => {
  expect(shapesOf(1024, 1, 'float32', { ...H200, multiProcessors: 20 })).toEqual([])
  expect(shapesOf(128, 1, 'bfloat16', { ...H200, computeCapability: 75 })).toEqual([])
  expect(shapesOf(128, 1, 'float32', { ...H200, computeCapability: 75 })).not.toEqual([])
})
