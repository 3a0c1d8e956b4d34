import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import type { CudnnBackend } from '../src/cudnn_backend.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallLstm } from './small_lstm.js'

const gpu = openEmulatedGpu()
const BATCH = 64

describe.skipIf(gpu.problem !== undefined)(`CudnnStepper (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  const frames = (count: number, start = 0) => ({
    data: Float32Array.from({ length: 4 * count }, (_, k) => Math.sin(start + k)),
    shape: [count, 4],
  })
  const opened = (backend: CudnnBackend) => {
    const { rnn, params } = smallLstm(backend)
    return { rnn, params, stepper: rnn.queuedStepper(params, BATCH) }
  }

  it('copies frames, row numbers and outputs alone between host and device', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: false })
    const { stepper } = opened(backend)
    const rows = Int32Array.of(60, 3, 17)
    // The first step makes its plan.
    await stepper.stepRows(rows, frames(3))
    const { copied: before } = libraries.report()
    await stepper.stepRows(rows, frames(3, 5))
    const { copied: after } = libraries.report()
    const bytes = (direction: string) => (after[direction] ?? 0) - (before[direction] ?? 0)
    // Three rows are filled up to four, of I 4, H 8 and a number.
    expect(bytes('host to device')).toBe(4 * (4 * 4 + 4))
    expect(bytes('device to host')).toBe(4 * (4 * 8))
    const state = libraries.report().copied['device to host']
    await stepper.state(Int32Array.of(5))
    // h and c of two layers.
    expect(libraries.report().copied['device to host'] - state).toBe(4 * (2 * 2 * 8))
  })

  it('is opened where the network is alive, for parameters of the network', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: false })
    await using other = await open({ algorithm: 'standard', graphs: false })
    const { rnn, params } = smallLstm(backend)
    const before = backend.stats()
    expect(() => rnn.queuedStepper(smallLstm(other).params, BATCH)).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(() => rnn.queuedStepper(frames(1), BATCH)).toThrow(coded('ERR_SHAPE'))
    expect(backend.stats()).toEqual(before)
    params.dispose()
    expect(() => rnn.queuedStepper(params, BATCH)).toThrow(coded('ERR_TENSOR_DISPOSED'))
    rnn.dispose()
    expect(() => rnn.queuedStepper(params, BATCH)).toThrow(coded('ERR_RNN_DISPOSED'))
  })

  // A graph becomes ready beside the steps: how soon depends on the machine.
  const launches = () => libraries.report().calls['cudaGraphLaunch'] ?? 0

  it('replays steps as graphs, with the numbers of the calls', async () => {
    await using calls = await open({ algorithm: 'standard', graphs: false })
    await using graphs = await open({ algorithm: 'standard', graphs: true })
    const [plain, replayed] = [opened(calls).stepper, opened(graphs).stepper]
    for (let t = 0; t < 8 || (launches() < 4 && t < 400); t++) {
      // Rows and frames differ from step to step.
      const rows = Int32Array.of(t % 20, 40 - (t % 20), 50)
      const expected = await plain.stepRows(rows, frames(3, t))
      expect(await replayed.stepRows(rows, frames(3, t))).toEqual(expected)
    }
    expect(await replayed.state()).toEqual(await plain.state())
    expect(launches()).toBeGreaterThanOrEqual(4)
  })

  it.each([false, true])('a step that fails leaves the states as they were; graphs: %s', async (areGraphs) => {
    await using backend = await open({ algorithm: 'standard', graphs: areGraphs })
    const { stepper } = opened(backend)
    const rows = Int32Array.of(1, 2, 3)
    for (let t = 0; t < 6 || (areGraphs && launches() === 0 && t < 400); t++) await stepper.stepRows(rows, frames(3, t))
    const before = await stepper.state()
    libraries.configure(areGraphs ? 'fault.cudaGraphLaunch=900@1' : 'fault.cudnnRNNForward=3000@1')
    await expect(stepper.stepRows(rows, frames(3))).rejects.toThrow(
      coded(areGraphs ? 'ERR_CUDA' : 'ERR_CUDNN_NOT_SUPPORTED'),
    )
    libraries.configure('reset')
    expect(await stepper.state()).toEqual(before)
    await stepper.stepRows(rows, frames(3))
    expect(await stepper.state()).not.toEqual(before)
  })

  it.each([false, true, 'measured'] as const)(
    'steps synchronously in one turn of the event loop, with the digits of asynchronous steps; graphs: %s',
    async (policy) => {
      await using asynchronous = await open({ algorithm: 'standard', graphs: false })
      await using waiting = await open({ algorithm: 'standard', graphs: policy })
      const [queued, { stepper }] = [opened(asynchronous).stepper, opened(waiting)]
      const expected = await Promise.all(
        Array.from({ length: 12 }, (_, t) => queued.stepRows(Int32Array.of(t, 40 - t, 50), frames(3, t))),
      )
      let turns = 0
      setImmediate(() => turns++)
      const out = new Float32Array(3 * 8)
      for (const [t, { data }] of expected.entries()) {
        stepper.stepRowsSync(Int32Array.of(t, 40 - t, 50), frames(3, t), out)
        expect(out).toEqual(data)
      }
      expect(turns).toBe(0)
      expect(await stepper.state()).toEqual(await queued.state())
      if (policy === true) expect(libraries.report().calls['cudaGraphLaunch']).toBeGreaterThanOrEqual(8)
    },
  )

  it.each([
    { fault: 'cudnnRNNForward=3000@1', graphs: false, code: 'ERR_CUDNN_NOT_SUPPORTED' },
    { fault: 'cudaGraphLaunch=900@1', graphs: true, code: 'ERR_CUDA' },
    // The first event is the uploads'.
    { fault: 'cudaEventSynchronize=719@2', graphs: false, code: 'ERR_DEVICE_LOST' },
    { fault: 'cuLaunchKernel=719@4', graphs: false, code: 'ERR_DEVICE_LOST' },
  ])('a synchronous step throws the error of the device while it waits: %o', async ({ fault, graphs, code }) => {
    await using backend = await open({ algorithm: 'standard', graphs })
    const { stepper } = opened(backend)
    const out = new Float32Array(3 * 8)
    const step = () => stepper.stepRowsSync(Int32Array.of(1, 2, 3), frames(3), out)
    for (let t = 0; t < 6; t++) step()
    libraries.configure(`fault.${fault}`)
    expect(step).toThrow(coded(code))
    libraries.configure('reset')
  })

  it.each(['cudnnSetRNNDescriptor_v8=2000@1', 'cudnnGetRNNTempSpaceSizes=2000@1'])(
    'a synchronous step whose plan is refused throws, and the next one succeeds: %s',
    async (fault) => {
      await using backend = await open({ algorithm: 'standard' })
      const { stepper } = opened(backend)
      const out = new Float32Array(8)
      libraries.configure(`fault.${fault}`)
      expect(() => stepper.stepRowsSync(Int32Array.of(1), frames(1), out)).toThrow(coded('ERR_CUDNN_BAD_PARAM'))
      libraries.configure('reset')
      stepper.stepRowsSync(Int32Array.of(1), frames(1), out)
      expect(out.some((value) => value !== 0)).toBe(true)
    },
  )

  it('refuses a synchronous step while another call prepares a shape, and takes it afterwards', async () => {
    await using backend = await open({ algorithm: 'standard' })
    const { stepper, rnn, params } = opened(backend)
    const other = rnn.queuedStepper(params, BATCH)
    const out = new Float32Array(8)
    const preparing = other.stepRows(Int32Array.of(0), frames(1))
    expect(() => stepper.stepRowsSync(Int32Array.of(0), frames(1), out)).toThrow(coded('ERR_EXECUTOR_BUSY'))
    const { data } = await preparing
    stepper.stepRowsSync(Int32Array.of(0), frames(1), out)
    expect(out).toEqual(data)
  })

  it('a synchronous step waits for asynchronous work that was queued before it', async () => {
    await using backend = await open({ algorithm: 'standard' })
    const { stepper } = opened(backend)
    const row = Int32Array.of(0)
    await stepper.stepRows(row, frames(1))
    stepper.reset()
    const out = new Float32Array(8)
    const first = stepper.stepRows(row, frames(1))
    stepper.stepRowsSync(row, frames(1, 3), out)
    const { data } = await first
    stepper.reset()
    await stepper.stepRows(row, frames(1))
    expect((await stepper.stepRows(row, frames(1, 3))).data).toEqual(out)
    expect(data).not.toEqual(out)
  })

  it('gives its memory back when it is disposed', async () => {
    await using backend = await open({ algorithm: 'standard' })
    const { stepper, params, rnn } = opened(backend)
    await stepper.stepRows(Int32Array.of(0), frames(1))
    const { bytes, steppers } = backend.stats()
    stepper.dispose()
    stepper.dispose()
    // h and c of two layers of 8 units.
    expect(backend.stats()).toMatchObject({ bytes: bytes - 4 * 2 * 2 * BATCH * 8, steppers: steppers - 1 })
    params.dispose()
    rnn.dispose()
    expect(backend.stats()).toMatchObject({ bytes: 0, steppers: 0, rnns: 0 })
  })
})
