import type { RnnForwardResult, RnnInputGradients } from '@cudnn-rnn/ops'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CudnnBackend } from '../src/cudnn_backend.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallLstm } from './small_lstm.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`PassGraphs (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  const launches = () => libraries.report().calls['cudaGraphLaunch'] ?? 0
  const values = async (result: RnnForwardResult | RnnInputGradients) => {
    const read: Record<string, number[]> = {}
    for (const [name, tensor] of Object.entries(result)) {
      if (tensor !== undefined && 'read' in tensor) read[name] = Array.from((await tensor.read()).data)
    }
    return read
  }
  /** Parameters after ten steps of gradient descent. */
  const trained = async (backend: CudnnBackend) => {
    const network = smallLstm(backend)
    for (let step = 0; step < 10; step++) await network.step()
    return Array.from((await network.params.read()).data)
  }

  it('replays training steps to the very numbers of the calls themselves', async () => {
    await using calls = await open({ algorithm: 'standard', graphs: false })
    const expected = await trained(calls)
    expect(launches()).toBe(0)
    await using graphs = await open({ algorithm: 'standard', graphs: true })
    expect(await trained(graphs)).toEqual(expected)
    // The forward, whose first pass makes the plan, is captured in step 4, the backward in step 3.
    expect(launches()).toBe(7 + 8)
  })

  it('replays inference from the fourth pass on', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const { forward } = smallLstm(backend)
    const first = await values(await forward(false))
    for (let pass = 0; pass < 4; pass++) expect(await values(await forward(false))).toEqual(first)
    expect(launches()).toBe(2)
  })

  it('two tapes open at once: both backwards are right', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const { rnn, forward } = smallLstm(backend)
    const alone = await forward()
    const expected = await values(await rnn.backward(alone.tape!, { output: alone.output }))
    for (let pass = 0; pass < 3; pass++) (await forward()).tape!.dispose()
    const [first, second] = [await forward(), await forward()]
    for (const { tape, output } of [second, first]) {
      expect(await values(await rnn.backward(tape!, { output }))).toEqual(expected)
    }
  })

  it('concurrent forwards keep their order and their numbers', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const { forward } = smallLstm(backend)
    const results = await Promise.all(Array.from({ length: 8 }, () => forward(false)))
    const [first, ...others] = await Promise.all(results.map(values))
    for (const other of others) expect(other).toEqual(first)
  })

  it('a pass that cannot be captured runs as calls from then on', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    libraries.configure('fault.cudaStreamBeginCapture=900@1+')
    const { forward } = smallLstm(backend)
    const first = await values(await forward(false))
    for (let pass = 0; pass < 4; pass++) expect(await values(await forward(false))).toEqual(first)
    expect(launches()).toBe(0)
  })

  it('a replay that fails is reported and not tried again', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const { forward } = smallLstm(backend)
    const first = await values(await forward(false))
    for (let pass = 0; pass < 3; pass++) await forward(false)
    libraries.configure('fault.cudaGraphLaunch=1@1')
    await expect(forward(false)).rejects.toMatchObject({ code: 'ERR_CUDA', call: 'cudaGraphLaunch' })
    expect(await values(await forward(false))).toEqual(first)
  })

  const execs = () => libraries.report().live['graph execs'] ?? 0

  it.each([
    ['faster, are kept', 400, 0, 2],
    ['slower, are given up, and later results are right', 0, 2000, 0],
  ])('measured graphs that prove %s', async (_, callMicroseconds, graphMicroseconds, kept) => {
    await using calls = await open({ algorithm: 'standard', graphs: false })
    const expected = await trained(calls)
    await using backend = await open({ algorithm: 'standard', graphs: 'measured' })
    const network = smallLstm(backend)
    libraries.configure(`counted_time=1; slow=${callMicroseconds}`)
    // The first step makes the plan; the calls of two forwards and of two backwards are timed.
    for (let step = 0; step < 3; step++) await network.step()
    expect(execs()).toBe(1)
    libraries.configure(`slow=${graphMicroseconds}`)
    for (let step = 3; step < 10; step++) await network.step()
    expect(execs()).toBe(kept)
    expect(Array.from((await network.params.read()).data)).toEqual(expected)
  })

  it('graphs go with their network', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const network = smallLstm(backend)
    for (let step = 0; step < 5; step++) await network.step()
    network.params.dispose()
    network.rnn.dispose()
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    await backend.zeros([1]).read()
    expect(libraries.report().live['graph execs'] ?? 0).toBe(0)
  })
})
