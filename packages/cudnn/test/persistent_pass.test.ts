import { type CellMode, createRnnDescriptor, elementCount, numPseudoLayers, outputSize } from '@cudnn-rnn/canonical'
import { decoded, encoded } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Precision } from '../src/device/precision.js'
import type { CudnnBackendOptions } from '../src/index.js'
import type { PersistentShape } from '../src/rnn/persistent_shape.js'
import { openEmulatedGpu } from './emulated_gpu.js'

/** The contents of the shared memory of clusters: the kernels of the best division of one of the ways run. */
type Way = PersistentShape['shared']
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

/**
 * Parts of the largest number of a result: sums of floats in another order, products of 11 bits of mantissa, and gates and
 * gradients that are rounded to 11 and 8 bits from step to step.
 */
const TOLERANCES: Readonly<Record<Precision, number>> = {
  ...{ float32: 2e-6, tf32x3: 2e-6, tf32: 2e-3, float16: 2e-3, bfloat16: 1.5e-2 },
}

const CELL_MODES = ['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const
/** The kernels are one template: half of the triples of cell, precision and way hold all pairs. `npm run test:all` runs all. */
const isChosen = (index: number) => requestedExtent === 'all' || index % 2 === 0

interface Pass {
  readonly cellMode?: CellMode
  readonly units?: number
  readonly batch?: number
  readonly time?: number
  readonly hasStates?: boolean
  readonly layers?: number
  readonly direction?: 'unidirectional' | 'bidirectional'
  readonly lengths?: readonly number[]
}

const STACKED: Pass = { layers: 2, direction: 'bidirectional' }

const largestOf = (values: Float32Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)

/**
 * The results of a training step and of inference by their names, gradients with a d, `count` times. The operands are numbers
 * of `precision`, so that an executor of another one begins with the same.
 */
async function resultsOf(backend: Backend, pass: Pass, precision: Precision = 'float32', count = 1) {
  const { cellMode = 'lstm', units = 64, batch = 3, time = 5, hasStates = true, lengths, layers = 1 } = pass
  const { direction = 'unidirectional' } = pass
  const network = createRnnDescriptor({ cellMode, numLayers: layers, direction, numUnits: units, inputSize: 6 })
  const rnn = backend.rnn(network)
  const sequenceLengths = lengths === undefined ? null : Int32Array.from(lengths)
  const tensor = (seed: number, scale: number, ...shape: number[]) => {
    let drawn = seed
    const numbers = Float32Array.from({ length: elementCount(shape) }, () => {
      drawn = (Math.imul(drawn, 1_664_525) + 1_013_904_223) >>> 0
      return scale * (drawn / 2 ** 31 - 1)
    })
    const type = precision === 'tf32' || precision === 'tf32x3' ? 'float32' : precision
    return { data: Float32Array.from(decoded(encoded(numbers, type), type)), shape }
  }
  const state = (seed: number) => tensor(seed, 0.8, numPseudoLayers(network), batch, units)
  const cell = (seed: number) => (cellMode === 'lstm' ? state(seed) : null)
  const states = hasStates ? { inputH: state(2), inputC: cell(3) } : { inputH: null, inputC: null }
  const gradients = hasStates ? { outputH: state(6), ...(cellMode === 'lstm' ? { outputC: state(7) } : {}) } : {}
  const all: Record<string, Float32Array>[] = []
  for (let n = 0; n < count; n++) {
    const params = tensor(4, 1.7 / Math.sqrt(units), rnn.paramsSize)
    const input = tensor(1, 1, time, batch, 6)
    const given = { input, ...states, params, sequenceLengths }
    const { tape, ...outputs } = await rnn.forward({ ...given, training: true })
    const output = tensor(5, 1, time, batch, outputSize(network))
    const backward = await rnn.backward(tape!, { output, ...gradients })
    const inferred = await rnn.forward({ ...given, training: false })
    const results: Record<string, Float32Array> = {}
    const named = (letter: string, all: object) =>
      Object.entries(all).map(([name, one]) => [letter + name, one] as const)
    for (const [name, one] of [...named('', outputs), ...named('d', backward), ...named('inferred ', inferred)]) {
      if (one) results[name] = (await (one as BackendTensor).read()).data as Float32Array
    }
    all.push(results)
  }
  return all
}

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

  it.each<[string, Pass, Way]>([
    ['a layer', { batch: 5, time: 3 }, 'nothing'],
    ['a layer', { batch: 5, time: 3, cellMode: 'gru' }, 'values'],
    ['a layer', { batch: 3, time: 2, units: 128, cellMode: 'rnn_tanh' }, 'sums'],
    ['layers of directions, rows of unequal length', { ...STACKED, time: 2, lengths: [2, 1], batch: 2 }, 'nothing'],
  ])('%s: results are equal to the bit in every order of the blocks, and as graphs', async (_, pass, way) => {
    chosen.way = way
    const options: CudnnBackendOptions = way === 'sums' ? { precision: 'tf32' } : {}
    const [expected] = await own(pass, options)
    for (const seed of [2, 3, 4]) {
      libraries.configure(`interleaving=${seed}`)
      for (const results of await own(pass, { ...options, graphs: seed === 4 }, seed === 4 ? 4 : 1)) {
        expect(results).toEqual(expected)
      }
    }
    expect(libraries.report().calls['cudaGraphLaunch']).toBeGreaterThan(0)
  })

  it('a launch that the driver refuses in a capture runs as a call', async () => {
    await using backend = await open({ kernels: 'own', algorithm: 'standard', graphs: true })
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 64, inputSize: 2 }))
    const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.01), shape: [rnn.paramsSize] })
    const given = { inputH: null, inputC: null, params, sequenceLengths: null, training: false }
    const input = backend.tensor({ data: Float32Array.of(1, -2, 3, 4), shape: [2, 1, 2] })
    const output = async () => (await (await rnn.forward({ input, ...given })).output.read()).data
    const first = await output()
    for (let pass = 0; pass < 2; pass++) expect(await output()).toEqual(first)
    const before = launches()
    libraries.configure('fault.cuLaunchCooperativeKernel=900@1')
    expect(await output()).toEqual(first)
    expect([launches() - before, libraries.report().calls['cudaGraphLaunch'] ?? 0]).toEqual([2, 0])
  })

  it.each<[string, Parameters<typeof createRnnDescriptor>[0]]>([
    ['dropout between its layers', { numLayers: 2, dropout: 0.5 }],
    ['a projection', { numProj: 32 }],
    ['a clip', { cellClip: 1 }],
    ['units that the lanes cannot divide', { numUnits: 60 }],
  ] as never)('cuDNN computes networks with %s', async (_, options) => {
    await using backend = await open({ kernels: 'own' })
    const rnn = backend.rnn(
      createRnnDescriptor({ ...{ cellMode: 'lstm', numLayers: 1, numUnits: 64, inputSize: 4 }, ...options }),
    )
    const given = { inputH: null, inputC: null, params: backend.zeros([rnn.paramsSize]), sequenceLengths: null }
    await rnn.forward({ input: backend.zeros([2, 2, 4]), ...given, training: true })
    expect([launches(), count('cuOccupancyMaxActiveClusters')]).toEqual([0, 0])
  })

  it('every set of lengths of a shape has the same kernels, without another query', async () => {
    await using backend = await open({ kernels: 'own' })
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 64, inputSize: 4 }))
    const given = { inputH: null, inputC: null, params: backend.zeros([rnn.paramsSize]), training: false }
    const calls = async (...lengths: number[]) => {
      await rnn.forward({ input: backend.zeros([3, 2, 4]), ...given, sequenceLengths: Int32Array.from(lengths) })
      return [launches(), libraries.report().calls['cuModuleLoadData'], libraries.report().calls['cudnnRNNForward']]
    }
    const [, modules, ofCudnn] = await calls(3, 1)
    expect(await calls(2, 3)).toEqual([2, modules, ofCudnn])
  })

  it('a block without room ends the pass with NaN and an error, and no later pass computes', async () => {
    await using backend = await open({ kernels: 'own', algorithm: 'standard', graphs: false })
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 64, inputSize: 4 }))
    const given = { inputH: null, inputC: null, params: backend.zeros([rnn.paramsSize]), sequenceLengths: null }
    const forward = () => rnn.forward({ input: backend.zeros([4, 2, 4]), ...given, training: false })
    await forward()
    libraries.configure('missing_block=1')
    const { output } = await forward()
    const stuck = { code: 'ERR_CUDNN', statusName: 'PERSISTENT_KERNEL_STUCK' }
    await expect(output.read()).rejects.toMatchObject(stuck)
    await expect(forward()).rejects.toMatchObject(stuck)
  })

  it('a division has the same results to the bit, whether clusters share the sums of its backward or not', async () => {
    chosen.way = 'sums'
    const pass: Pass = { units: 128, batch: 3, time: 3, cellMode: 'gru' }
    const shared = await own(pass, { precision: 'tf32' })
    const asked = count('cuOccupancyMaxActiveClusters')
    expect(asked).toBeGreaterThan(0)
    chosen.isWithout = true
    expect(await own(pass, { precision: 'tf32' })).toEqual(shared)
    expect(count('cuOccupancyMaxActiveClusters')).toBe(asked)
  })

  it('a cluster without room ends the backward with NaN and an error', async () => {
    chosen.way = 'sums'
    libraries.configure('multiprocessors=132')
    const options = { kernels: 'own', algorithm: 'standard', graphs: false, precision: 'tf32' } as const
    await using backend = await open(options)
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 128, inputSize: 4 }))
    const given = { inputH: null, inputC: null, params: backend.zeros([rnn.paramsSize]), sequenceLengths: null }
    const { tape } = await rnn.forward({ input: backend.zeros([4, 9, 4]), ...given, training: true })
    libraries.configure('missing_block=1')
    const { params } = await rnn.backward(tape!, { output: backend.zeros([4, 9, 128]) })
    const stuck = { code: 'ERR_CUDNN', statusName: 'PERSISTENT_KERNEL_STUCK' }
    await expect(params.read()).rejects.toMatchObject(stuck)
  })

  it('a cluster that the device starts last ends after the others', async () => {
    chosen.way = 'values'
    const pass: Pass = { batch: 9, time: 2 }
    const [expected] = await own(pass)
    libraries.configure('missing_block=1')
    expect(await own(pass)).toEqual([expected])
  })

  it.each([
    ['cuLaunchCooperativeKernel', 720, 'nothing'],
    ['cuOccupancyMaxActiveClusters', 912, 'values'],
  ] as const)('a driver whose %s refuses rejects the pass', async (call, status, way) => {
    chosen.way = way
    await using backend = await open({ kernels: 'own', algorithm: 'standard' })
    libraries.configure(`fault.${call}=${status}`)
    await expect(resultsOf(backend, {})).rejects.toMatchObject({ code: 'ERR_CUDA', status })
  })
})
