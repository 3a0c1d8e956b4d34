import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Precision } from '../src/device/precision.js'
import type { CudnnBackendOptions } from '../src/index.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import {
  CELL_MODES,
  isChosen,
  largestOf,
  type Pass,
  resultsOf,
  STACKED,
  TOLERANCES,
  type Way,
} from './persistent_passes.js'

const chosen = vi.hoisted(() => ({ way: 'nothing' as Way, isWithout: false }))
vi.mock('../src/rnn/persistent_shape.js', async (original) => {
  const actual = await original<typeof import('../src/rnn/persistent_shape.js')>()
  const persistentShapes: typeof actual.persistentShapes = (...given) =>
    actual.persistentShapes(...given).flatMap((shape) => {
      if (shape.shared !== chosen.way) return []
      return [chosen.isWithout ? { ...shape, shared: 'nothing' } : shape]
    })
  return { ...actual, persistentShapes }
})

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`persistent kernels (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => {
    // Few blocks, as the emulator runs the threads of all on one core.
    libraries.configure('reset;multiprocessors=16')
    Object.assign(chosen, { way: 'nothing', isWithout: false })
  })
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  const count = (call: string) => libraries.report().calls[call] ?? 0
  const launches = () => count('cuLaunchCooperativeKernel')

  async function own(pass: Pass, options: CudnnBackendOptions = {}, times = 1) {
    await using backend = await open({ kernels: 'own', algorithm: 'standard', ...options })
    // An executor asks once how many clusters of new kernels run at once.
    const runs = () => (chosen.way === 'values' ? count('cuOccupancyMaxActiveClusters') : launches())
    const before = runs()
    const all = await resultsOf(backend, pass, options.precision, times)
    expect(runs()).toBeGreaterThan(before)
    return all
  }

  async function check(pass: Pass, precision: Precision = 'float32', ways: readonly Way[] = ['values', 'nothing']) {
    const [expected] = await resultsOf(openReferenceBackend(), pass, precision)
    for (const way of ways) {
      chosen.way = way
      const [made] = await own(pass, { precision })
      expect(Object.keys(made)).toEqual(Object.keys(expected))
      for (const [name, values] of Object.entries(expected)) {
        const difference = largestOf(values.map((value, k) => value - made[name][k]))
        expect(difference / largestOf(values), `${name}, ${way}`).toBeLessThan(TOLERANCES[precision])
      }
    }
  }

  for (const [row, cellMode] of CELL_MODES.entries()) {
    for (const [column, precision] of (['float32', 'tf32', 'tf32x3', 'bfloat16', 'float16'] as const).entries()) {
      const ways = (['values', 'nothing'] as const).filter((_, n) => isChosen(row + column + n))
      it.each(ways)(`${cellMode}, ${precision}: results are the reference's if clusters share %s`, async (way) => {
        // With so many rows for a multiprocessor tensor cores take less time than FMA.
        const isTf32 = precision === 'tf32' || precision === 'tf32x3'
        // In more sums ten bits of mantissa decide on which side of relu's kink one is.
        const isRelu = cellMode === 'rnn_relu'
        if (isTf32) libraries.configure(isRelu ? 'multiprocessors=2' : 'multiprocessors=4')
        const sizes = isRelu ? { batch: 5, time: 2 } : { units: 128, batch: 9, time: 3 }
        await check(isTf32 ? { cellMode, ...sizes } : { cellMode }, precision, [way])
      })
    }
  }

  it.each<[string, Pass, string]>([
    ['without states', { hasStates: false }, ''],
    ['one step', { time: 1 }, ''],
    ['one step without states', { cellMode: 'gru', time: 1, hasStates: false }, ''],
    ['one row', { batch: 1 }, ''],
    ['rows in groups, the last of which is not full', { batch: 11, cellMode: 'gru' }, 'multiprocessors=12'],
    ['few multiprocessors', { batch: 6 }, 'multiprocessors=4'],
    ['several passes a step, the last of which is not full', { batch: 21, cellMode: 'gru' }, 'multiprocessors=2'],
    ['passes without rows', { batch: 33, time: 2, lengths: Array(33).fill(2) }, 'multiprocessors=4'],
    ['more units', { units: 256, time: 3, batch: 2 }, ''],
    ['units that are not a power of two', { units: 192, time: 3, cellMode: 'gru' }, ''],
    ['layers', { layers: 3, time: 3 }, ''],
    ['directions', { direction: 'bidirectional', cellMode: 'gru', batch: 5 }, ''],
    ['one step of directions without states', { direction: 'bidirectional', time: 1, hasStates: false }, ''],
    ['layers of directions, rows of unequal length', { ...STACKED, lengths: [2, 5, 1] }, ''],
    ['an empty row, and groups', { ...STACKED, cellMode: 'gru', batch: 4, lengths: [5, 0, 3, 1] }, 'multiprocessors=4'],
    ['rows of unequal length without states', { cellMode: 'rnn_tanh', lengths: [4, 1, 3], hasStates: false }, ''],
    // One layer: in a second one 8 bits of mantissa decide on which side of relu's kink a sum is.
    ['relu in directions', { direction: 'bidirectional', cellMode: 'rnn_relu', lengths: [1, 3, 4] }, ''],
  ])("%s: results are the reference's", async (_, pass, settings) => {
    libraries.configure(settings)
    await check(pass, 'float32', ['values'])
    await check(pass, 'bfloat16', ['nothing'])
  })

  for (const [row, cellMode] of CELL_MODES.entries()) {
    for (const [column, precision] of (['tf32', 'tf32x3', 'bfloat16', 'float16'] as const).entries()) {
      if (!isChosen(row + column)) continue
      it(`${cellMode}, ${precision}: clusters that divide the columns of the backward give the reference's results`, async () => {
        const units = precision === 'tf32' || precision === 'tf32x3' ? 128 : 256
        const isRelu = cellMode === 'rnn_relu'
        const sizes = isRelu ? { batch: 3, time: 2 } : { batch: 9, time: 3, lengths: [3, 1, 3, 2, 3, 3, 0, 3, 3] }
        await check({ cellMode, units, ...sizes }, precision, ['sums'])
      })
    }
  }

  it("weights that lie in shared memory: results are the reference's", async () => {
    libraries.configure('multiprocessors=8')
    for (const precision of ['tf32', 'tf32x3'] as const) {
      await check({ units: 256, batch: 9, time: 2, lengths: [2, 1, 2, 2, 1, 2, 2, 2, 2] }, precision)
    }
  })
})
