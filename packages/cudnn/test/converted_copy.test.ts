import type { BackendTensor, RnnForwardResult } from '@cudnn-rnn/ops'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallLstm } from './small_lstm.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`ConvertedCopy (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  const kernels = () => libraries.report().calls['cuLaunchKernel'] ?? 0
  const values = async ({ output, outputH, outputC }: RnnForwardResult) => {
    const read = async (tensor: BackendTensor | undefined) => Array.from((await tensor?.read())?.data ?? [])
    return [await read(output), await read(outputH), await read(outputC)]
  }
  /** A pass over host parameters, which are converted for it alone. */
  const fresh = async ({ rnn, params }: ReturnType<typeof smallLstm>) => {
    const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] }
    const states = { inputH: null, inputC: null, sequenceLengths: null }
    return values(await rnn.forward({ input, params: await params.read(), training: false, ...states }))
  }

  describe.each(['float16', 'bfloat16'] as const)('%s', (precision) => {
    const openHere = (graphs: boolean) => open({ precision, algorithm: 'standard', graphs })

    it('is made once for any number of passes that read it, and again after an update', async () => {
      await using backend = await openHere(false)
      const network = smallLstm(backend)
      const counted = async (training: boolean) => {
        // The read completes after all queued calls are launched.
        await backend.zeros([1]).read()
        const before = kernels()
        await network.forward(training)
        return kernels() - before
      }
      // What every pass converts: the input, the output and two states.
      expect([await counted(false), await counted(false), await counted(true), await counted(false)]).toEqual([
        5, 4, 4, 4,
      ])
      backend.ops.accumulate(network.params, network.params, 0.5)
      expect([await counted(true), await counted(false), await counted(false)]).toEqual([5, 4, 4])
    })

    it('is made outside the graphs of passes, which read it where it is', async () => {
      await using backend = await openHere(true)
      const network = smallLstm(backend)
      for (let pass = 0; pass < 5; pass++) await network.forward(false)
      expect(libraries.report().calls['cudaGraphLaunch']).toBe(2)
      const before = kernels()
      for (let pass = 0; pass < 3; pass++) await network.forward(false)
      expect(kernels()).toBe(before)
      backend.ops.accumulate(network.params, network.params, 0.5)
      expect(await values(await network.forward(false))).toEqual(await fresh(network))
      expect(libraries.report().calls['cudaGraphLaunch']).toBe(6)
    })

    it.each([false, true])('is never older than the parameters after any change (graphs: %s)', async (graphs) => {
      await using backend = await openHere(graphs)
      const network = smallLstm(backend)
      const { params } = network
      const slot = () => backend.zeros(params.shape)
      const [first, second] = [slot(), slot()]
      const { ops, steps } = backend
      const changes: Readonly<Record<string, () => unknown>> = {
        assign: () => ops.assign(params, { data: new Float32Array(params.shape[0]).fill(0.2), shape: params.shape }),
        accumulate: () => ops.accumulate(params, params, 0.5),
        sgd: () => ops.update('sgd', params, [], params, { learningRate: 0.25 }),
        momentum: () => ops.update('momentum', params, [first], params, { learningRate: 0.1, momentum: 0.9 }),
        adam: () => ops.update('adam', params, [first, second], params, { learningRate: 0.1, step: 1 }),
        weightDecay: () => ops.update('weightDecay', params, [], null, { rate: 0.5 }),
        clipByValue: () => ops.clipByValue([params], 0.03),
        clipByGlobalNorm: () => ops.clipByGlobalNorm([params], 0.2),
        'a step': () => network.step(),
        'a recorded step': () => steps.run(() => network.step()),
      }
      let before = await values(await network.forward(false))
      for (let round = 0; round < 4; round++) {
        for (const [name, change] of Object.entries(changes)) {
          if (name === 'clipByValue') ops.assign(params, first)
          await network.forward(false)
          await change()
          const after = await values(await network.forward(false))
          expect(after, name).toEqual(await fresh(network))
          expect(after, name).not.toEqual(before)
          before = after
        }
      }
    })

    it('concurrent passes read the parameters of their place between the updates', async () => {
      await using backend = await openHere(false)
      const network = smallLstm(backend)
      const expected = []
      for (let update = 0; update < 4; update++) {
        expected.push(await fresh(network))
        backend.ops.accumulate(network.params, network.params, 0.5)
      }
      backend.ops.assign(network.params, {
        data: new Float32Array(network.rnn.paramsSize).fill(0.1),
        shape: network.params.shape,
      })
      const passes: Promise<RnnForwardResult>[] = []
      for (let update = 0; update < 4; update++) {
        passes.push(network.forward(false))
        backend.ops.accumulate(network.params, network.params, 0.5)
      }
      expect(await Promise.all((await Promise.all(passes)).map(values))).toEqual(expected)
    })

    it('is made by the graph of a captured training step, to the numbers of the calls', async () => {
      const trained = async (graphs: boolean) => {
        await using backend = await openHere(graphs)
        const network = smallLstm(backend)
        // The copies of a pass before the steps must not be used in them.
        await network.forward(false)
        for (let step = 0; step < 8; step++) await backend.steps.run(() => network.step())
        return [Array.from((await network.params.read()).data), await values(await network.forward(false))]
      }
      const expected = await trained(false)
      expect(libraries.report().calls['cudaGraphLaunch'] ?? 0).toBe(0)
      expect(await trained(true)).toEqual(expected)
      expect(libraries.report().calls['cudaGraphLaunch']).toBe(5)
    })

    it('counts among the bytes of its tensor and is released with it', async () => {
      await using backend = await openHere(false)
      const { rnn, params, forward } = smallLstm(backend)
      const dispose = ({ output, outputH, outputC }: RnnForwardResult) => {
        for (const tensor of [output, outputH, outputC]) tensor?.dispose()
      }
      const before = backend.stats()
      dispose(await forward(false))
      const after = backend.stats()
      expect(after).toEqual({ ...before, bytes: before.bytes + 2 * rnn.paramsSize })
      backend.ops.accumulate(params, params)
      dispose(await forward(false))
      expect(backend.stats()).toEqual(after)
      params.dispose()
      rnn.dispose()
      expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    })

    it('that finds no memory fails the pass, and is tried again by the next', async () => {
      await using backend = await openHere(false)
      const network = smallLstm(backend)
      await backend.zeros([1]).read()
      libraries.configure('fault.cudaMallocAsync=2@2+')
      await expect(network.forward(false)).rejects.toMatchObject({ code: 'ERR_OUT_OF_DEVICE_MEMORY' })
      libraries.configure('reset')
      const bytes = backend.stats().bytes
      expect(await values(await network.forward(false))).toEqual(await fresh(network))
      expect(backend.stats().bytes).toBeGreaterThan(bytes)
    })
  })
})
