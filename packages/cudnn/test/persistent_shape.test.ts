import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { arithmeticOf, type Precision } from '../src/device/precision.js'
import { clusterBlocks, persistentShapes } from '../src/rnn/persistent_shape.js'

const H200 = { multiProcessors: 132, computeCapability: 90 }

const shapesOf = (units: number, batch: number, precision: Precision, device = H200) =>
  persistentShapes(
    createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: units, inputSize: 8 }),
    arithmeticOf('float32', precision),
    { time: 50, batch, sequenceLengths: null },
    device,
  )

it('all blocks of a shape run at the same time, and hold all units and rows', () => {
  for (const precision of ['float32', 'tf32', 'tf32x3', 'bfloat16', 'float16'] as const) {
    for (const units of [64, 128, 192, 512, 1024, 2048]) {
      for (const batch of [1, 5, 16, 64, 256]) {
        for (const shape of shapesOf(units, batch, precision)) {
          expect(shape.blocks * shape.units).toBe(units)
          expect(shape.groups * shape.passes * shape.rows).toBeGreaterThanOrEqual(batch)
          expect(shape.blocks * shape.groups).toBeLessThanOrEqual(132)
          expect(Math.max(shape.forwardBytes, shape.backwardBytes)).toBeLessThanOrEqual(227 * 1024)
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
  [2048, 1, 'bfloat16', true],
  [1024, 64, 'tf32x3', true],
  [60, 1, 'float32', false],
])('%i units, %i rows, %s: %s', (units, batch, precision, isThere) => {
  expect(shapesOf(units, batch, precision).length > 0).toBe(isThere)
})

it('float32 as three products of TF32 is for many rows of a multiprocessor', () => {
  const kindOf = (batch: number, precision: Precision) =>
    shapesOf(128, batch, precision, { ...H200, multiProcessors: 4 })[0].kind
  expect([kindOf(1, 'tf32x3'), kindOf(9, 'tf32x3'), kindOf(9, 'float32')]).toEqual(['float32', 'tf32x3', 'float32'])
})

it('weights of tensor cores that do not fit into registers are in shared memory', () => {
  const bytesOf = (precision: Precision) => shapesOf(256, 9, precision, { ...H200, multiProcessors: 8 })[0].forwardBytes
  expect(bytesOf('tf32') - bytesOf('bfloat16')).toBeGreaterThanOrEqual(2 ** 16)
})

it('more rows than fit into a pass take several passes in a step', () => {
  const [{ rows, passes, groups }] = shapesOf(64, 21, 'bfloat16', { ...H200, multiProcessors: 2 })
  expect(passes).toBeGreaterThan(1)
  expect(rows * passes * groups).toBeGreaterThanOrEqual(21)
})

it.each([
  [80, 163],
  [86, 99],
  [90, 227],
  [120, 99],
])('blocks of compute capability %i have at most %i KiB of shared memory', (computeCapability, kibibytes) => {
  const bytes = shapesOf(512, 64, 'tf32', { ...H200, computeCapability }).map((shape) => shape.forwardBytes)
  expect(Math.max(...bytes)).toBeLessThanOrEqual(kibibytes * 1024)
  expect(bytes.length).toBeGreaterThan(0)
})

it.each<[number, Precision, number, boolean]>([
  [128, 'bfloat16', 90, true],
  [128, 'float32', 120, true],
  [128, 'bfloat16', 89, false],
  // Eight blocks cannot hold so many units.
  [1024, 'bfloat16', 90, false],
])(
  '%i units in %s, compute capability %i: whether the blocks are a cluster is %s',
  (units, precision, computeCapability, is) => {
    const shapes = shapesOf(units, 1, precision, { ...H200, computeCapability })
    expect(shapes[0].shared === 'values').toBe(is)
    // A trial of two sees both ways.
    expect(shapes[1].shared === shapes[0].shared).toBe(computeCapability < 90)
    for (const { shared, blocks } of shapes) expect(shared === 'values' && (blocks < 2 || blocks > 8)).toBe(false)
  },
)

it('a GPU with few multiprocessors, or without the instructions, has none', () => {
  expect(shapesOf(1024, 1, 'float32', { ...H200, multiProcessors: 20 })).toEqual([])
  expect(shapesOf(128, 1, 'bfloat16', { ...H200, computeCapability: 75 })).toEqual([])
  expect(shapesOf(128, 1, 'float32', { ...H200, computeCapability: 75 })).not.toEqual([])
})

it('with many rows, clusters of neighbors share the sums of the backward', () => {
  const sharedOf = (multiProcessors: number, computeCapability = 90) =>
    shapesOf(1024, 16, 'bfloat16', { multiProcessors, computeCapability }).map(({ shared }) => shared)
  expect(sharedOf(132).slice(0, 2)).toEqual(['sums', 'nothing'])
  expect(sharedOf(132, 89)).not.toContain('sums')
  for (const shape of shapesOf(1024, 16, 'bfloat16')) {
    if (shape.shared !== 'sums') continue
    expect([clusterBlocks(shape, false), clusterBlocks(shape, true)]).toEqual([0, 8])
    expect(shape.blocks % 8).toBe(0)
    expect(shape.blocks * shape.groups).toBeLessThanOrEqual(128)
  }
})
