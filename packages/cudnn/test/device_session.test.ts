import { createRnnDescriptor, elementCount } from '@cudnn-rnn/canonical'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadAddon } from '../src/load_addon.js'
import { openCudaLibraries } from '../src/sys/cuda_libraries.js'
import { cudnnError } from '../src/sys/cudnn_error.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallCharModel } from './small_char_model.js'
import { smallLstm } from './small_lstm.js'

const gpu = openEmulatedGpu()
/** No operation of the device ends until the test releases it. */
const HELD_MICROSECONDS = 30e6

describe.skipIf(gpu.problem !== undefined)(`a device session (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => {
    vi.restoreAllMocks()
    expect(libraries.report().violations).toEqual([])
    libraries.configure('reset')
  })

  it.each(['adam', 'sgd'] as const)('a replayed step with %s settles when it is queued', async (optimizer) => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const model = smallCharModel(backend, { optimizer })
    // The rate changes, so scalars are sent with every step.
    for (let step = 0; step < 6; step++) await model.step({ learningRate: 0.01 / (step + 1) })
    const ended: string[] = []
    const { run } = backend.steps
    const steps = vi.spyOn(backend.steps, 'run').mockImplementation(async (step) => {
      libraries.configure(`slow=${HELD_MICROSECONDS}`)
      const before = model.variables[0].read().then(() => ended.push('device'))
      const result = await run.call(backend.steps, step)
      ended.push('step')
      libraries.configure('slow=0')
      await before
      return result as never
    })
    await model.step({ learningRate: 0.001 })
    expect(steps).toHaveBeenCalledOnce()
    expect(ended).toEqual(['step', 'device'])
    model.dispose()
  })

  it('transfers in pieces keep every element', { timeout: 60_000 }, async () => {
    await using backend = await open()
    // Two pieces of 64 MiB and a rest.
    const data = Float32Array.from({ length: 2 ** 25 + 5 }, (_, k) => k)
    const tensor = backend.tensor({ data, shape: [data.length] })
    const read = (await tensor.read()).data as Float32Array
    expect(Buffer.compare(Buffer.from(read.buffer), Buffer.from(data.buffer))).toBe(0)
    tensor.dispose()
  })

  it('reports memory that stays to the garbage collector, and none that a call allocates and releases', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: false })
    const { addon } = loadAddon()
    if (addon === undefined) return
    const reported = vi.spyOn(addon, 'adjustExternalMemory')
    // Its work space is larger than its results.
    const rnn = backend.rnn(
      createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 32, inputSize: 8, inputMode: 'linear_input' }),
    )
    const given = { inputH: null, inputC: null, sequenceLengths: null, training: false } as const
    const [params, input] = [backend.zeros([rnn.paramsSize]), backend.zeros([100, 100, 8])]
    const results = []
    for (let n = 0; n < 4; n++) results.push(await rnn.forward({ ...given, input, params }))
    const tensors = [params, input, ...results.flatMap(({ output, outputH, outputC }) => [output, outputH, outputC])]
    const bytes = tensors.reduce((sum, tensor) => sum + 4 * elementCount(tensor?.shape ?? []), 0)
    const sum = reported.mock.calls.reduce((total, [change]) => total + change, 0)
    // Within the unit in which it is reported.
    expect(Math.abs(sum - bytes / 16)).toBeLessThan(2 ** 20 / 16)
    expect(reported.mock.calls.filter(([change]) => change < 0)).toEqual([])
  })

  it('gives the memory of the pool back when it closes', async () => {
    const backend = await open({ algorithm: 'standard' })
    await smallLstm(backend).step()
    await backend.close()
    expect(libraries.report().live['pool bytes'] ?? 0).toBe(0)
  })

  it('returns cached memory to the device when it is trimmed, and keeps working', async () => {
    await using backend = await open({ algorithm: 'standard' })
    const network = smallLstm(backend)
    await network.step()
    await network.params.read()
    const kept = () => libraries.report().live['pool bytes'] ?? 0
    expect(kept()).toBeGreaterThan(0)
    // Freed behind work that is still under way: the trim waits for it.
    libraries.configure('slow=2000')
    backend.zeros([1 << 16]).dispose()
    await backend.trimMemory()
    libraries.configure('slow=0')
    // Memory freed after the trim would be cached again, so all work must be done before it.
    await network.params.read()
    expect(kept()).toBe(0)
    await network.step()
    expect((await network.params.read()).data.every(Number.isFinite)).toBe(true)
  })

  it('reports a trim that fails, and refuses one of a closed executor', async () => {
    const backend = await open({ algorithm: 'standard' })
    libraries.configure('fault.cudaMemPoolTrimTo=1@1')
    await expect(backend.trimMemory()).rejects.toMatchObject({ code: 'ERR_CUDA', call: 'cudaMemPoolTrimTo' })
    await backend.trimMemory()
    await backend.close()
    await expect(backend.trimMemory()).rejects.toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
  })

  it.each([0, 1])('destroys and frees nothing on a thread that did not choose device %i', async (device) => {
    libraries.configure('devices=2')
    const backend = await open({ device })
    // Timers of the trials, graphs, and page-locked memory of transfers.
    const network = smallLstm(backend)
    for (let step = 0; step < 6; step++) await network.step()
    await network.params.read()
    const { calls } = libraries.report()
    expect(calls['cudaGraphInstantiateWithFlags']).toBeGreaterThan(0)
    expect(calls['cudaMallocHost']).toBeGreaterThan(0)
    libraries.configure('slow=1000')
    // Batches that are dropped before they begin hold page-locked memory too.
    const host = { data: new Float32Array(1024), shape: [1024] }
    const dropped = Array.from({ length: 20 }, () => backend.tensor(host).read())
    backend.dispose()
    await Promise.allSettled(dropped)
    await backend.close()
    const { live, violations } = libraries.report()
    expect(violations).toEqual([])
    for (const kind of ['graph execs', 'pinned allocations']) expect(live[kind] ?? 0, kind).toBe(0)
  })

  it('a capture that fails once is tried again, and given up after three', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const { forward } = smallLstm(backend)
    const execs = () => libraries.report().live['graph execs'] ?? 0
    libraries.configure('fault.cudaStreamBeginCapture=900@1')
    for (let pass = 0; pass < 6; pass++) await forward(false)
    expect(execs()).toBe(1)
    const second = smallLstm(backend)
    libraries.configure('fault.cudaStreamBeginCapture=900@1+')
    const tried = libraries.report().calls['cudaStreamBeginCapture']
    for (let pass = 0; pass < 10; pass++) await second.forward(false)
    expect(libraries.report().calls['cudaStreamBeginCapture']).toBe(tried + 3)
  })

  it('a pass of too many steps for a graph runs as calls', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const { forward } = smallLstm(backend, { units: 1, time: 5000, batch: 1 })
    for (let pass = 0; pass < 4; pass++) await forward(false)
    expect(libraries.report().calls['cudaGraphLaunch'] ?? 0).toBe(0)
  })

  it('the driver is opened before any function of cuDNN is called', () => {
    const addon = loadAddon().addon!
    const opened = vi.spyOn(addon, 'openLibrary')
    const called = vi.spyOn(addon, 'bindLibraries')
    openCudaLibraries(addon, libraries.folder)
    const driver = opened.mock.calls.findIndex(([path]) => path.includes('libcuda.so.1'))
    expect(opened.mock.invocationCallOrder[driver]).toBeLessThan(called.mock.invocationCallOrder[0])
  })

  it.each([226, 700, 710, 719, 721])('error %i of the runtime is the loss of the device', (status) => {
    const fields = { library: 'cudart', call: 'cudaEventSynchronize', status, statusName: 'cudaError', detail: '' }
    const bytes = { requestedBytes: 0, freeBytes: 0, totalBytes: 0 }
    const error = Object.assign(new Error('failed'), fields, bytes)
    expect(cudnnError('read a tensor', error)).toMatchObject({ code: 'ERR_DEVICE_LOST' })
  })
})
