import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CudnnBackendOptions } from '../src/index.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import { type Pass, resultsOf, STACKED, type Way } from './persistent_passes.js'

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

describe.skipIf(gpu.problem !== undefined)(`launches of persistent kernels (${gpu.problem ?? 'CUDA emulator'})`, () => {
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
