import type { Backend } from '@cudnn-rnn/ops'
import { createRnnDescriptor, elementCount, layoutKey } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, cosineRate, Dataset, fit, type StepReport } from '@cudnn-rnn/train'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

const [VOCABULARY, COLUMNS, UNITS, TIME, BATCH] = [5, 4, 6, 4, 2]

describe.skipIf(gpu.problem !== undefined)(`fit on CudnnTrainingSteps (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  /** Trains a character model by `fit`, with one batch that is not finite in between. */
  const train = async (backend: Backend, readsLoss: boolean) => {
    const { ops } = backend
    const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 2, numUnits: UNITS, inputSize: COLUMNS })
    using rnn = backend.rnn(descriptor)
    const variable = (name: string, shape: readonly number[], layout?: string) => {
      const value = backend.zeros(shape, { layout })
      const size = elementCount(shape)
      ops.accumulate(value, { data: Float32Array.from({ length: size }, (_, k) => 0.3 * Math.sin(2 * k + 1)), shape })
      return { name, backend, value }
    }
    const table = variable('table', [VOCABULARY, COLUMNS])
    const params = variable('gru', [rnn.paramsSize], layoutKey(descriptor))
    const kernel = variable('kernel', [UNITS, VOCABULARY])
    const bias = variable('bias', [VOCABULARY])
    using optimizer = new Adam([table, params, kernel, bias], { weightDecay: 0.01 })
    const reports: StepReport[] = []
    const ids = (from: number) => ({
      data: Int32Array.from({ length: TIME * BATCH }, (_, k) => (3 * k + from) % VOCABULARY),
      shape: [TIME, BATCH],
    })
    await fit({
      data: Dataset.fromArray(Array.from({ length: 30 }, (_, k) => k)),
      async batchGradients(from) {
        const inputs = ids(from)
        const weights = {
          data: new Float32Array(TIME * BATCH).fill(from === 15 ? Number.NaN : 1),
          shape: [TIME, BATCH],
        }
        const states = { inputH: null, inputC: null, sequenceLengths: null }
        using x = ops.embedding(table.value, inputs)
        const forward = await rnn.forward({ input: x, params: params.value, training: true, ...states })
        using output = forward.output
        using logits = ops.linear(output, kernel.value, bias.value)
        const { loss, logitsGradient } = ops.softmaxCrossEntropy(logits, ids(from + 1), weights)
        const top = ops.linearGradients(output, kernel.value, logitsGradient)
        const bottom = await rnn.backward(forward.tape!, { output: top.input })
        const gradients = [ops.embeddingGradient(VOCABULARY, inputs, bottom.input), bottom.params, top.kernel, top.bias]
        for (const tensor of [forward.outputH, logitsGradient, top.input, bottom.input, bottom.inputH]) tensor.dispose()
        if (!readsLoss) return { loss, gradients }
        const { data } = await loss.read()
        loss.dispose()
        return { loss: data[0], gradients }
      },
      optimizer,
      learningRate: cosineRate({ peak: 0.05, steps: 15, warmup: 3 }),
      maxSteps: 15,
      accumulate: 2,
      clipNorm: 0.2,
      onStep: (report) => void reports.push({ ...report, seconds: 0 }),
    })
    const values: number[][] = []
    for (const { value } of [...optimizer.variables, ...optimizer.slots]) {
      values.push(Array.from((await value.read()).data))
      if (optimizer.variables.some((own) => own.value === value)) value.dispose()
    }
    return { reports, values, updates: optimizer.step }
  }

  it.each(['pytorch', 'tensorflow'] as const)(
    "Adam's count on the device leaves out the updates that were skipped: %s",
    async (definition) => {
      /** Parameters after updates of which every third has a gradient that is not finite. */
      const updated = async (backend: Backend) => {
        const value = backend.tensor({ data: Float32Array.of(1, -2, 0.5), shape: [3] })
        using optimizer = new Adam([{ name: 'v', backend, value }], { definition, epsilon: 1e-3 })
        optimizer.restoreStep(2)
        for (let update = 0; update < 12; update++) {
          const isSkipped = update % 3 === 1
          const norm = backend.tensor({ data: Float32Array.of(isSkipped ? Number.NaN : 1), shape: [] })
          const gradient = { data: Float32Array.of(Math.sin(update), 0.1, -1), shape: [3] }
          const apply = () => optimizer.apply([gradient], 0.1)
          if (backend.steps !== undefined) {
            backend.steps.whereFinite([norm], apply)
            if (isSkipped) optimizer.uncount()
          } else if (!isSkipped) apply()
        }
        return { step: optimizer.step, values: Array.from((await value.read()).data) }
      }
      using reference = openReferenceBackend()
      const expected = await updated(reference)
      expect(expected.step).toBe(10)
      await using backend = await open({ algorithm: 'standard' })
      const found = await updated(backend)
      expect(found.step).toBe(10)
      for (const [k, value] of found.values.entries()) expect(value).toBeCloseTo(expected.values[k], 5)
    },
  )

  it('queues a step before it reads the loss of the one before', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const [value, ones] = [backend.zeros([4]), { data: new Float32Array(4).fill(1), shape: [4] }]
    using optimizer = new Adam([{ name: 'v', backend, value }])
    const events: string[] = []
    await fit({
      data: Dataset.fromArray(Array.from({ length: 10 }, (_, k) => k + 1)),
      async batchGradients(step) {
        events.push(`queue ${step}`)
        const gradient = backend.zeros([4])
        backend.ops.accumulate(gradient, ones)
        const loss = backend.zeros([])
        const read = loss.read.bind(loss)
        Object.assign(loss, {
          read: () => {
            events.push(`read ${step}`)
            return read()
          },
        })
        return { loss, gradients: [gradient] }
      },
      optimizer,
      learningRate: () => 0.1,
      maxSteps: 10,
      onStep: ({ step }) => void events.push(`report ${step}`),
    })
    const expected = Array.from({ length: 9 }, (_, k) => [`queue ${k + 2}`, `read ${k + 1}`, `report ${k + 1}`])
    expect(events).toEqual(['queue 1', ...expected.flat(), 'read 10', 'report 10'])
  })

  it('a step that fails behind one that was skipped leaves the count of updates exact', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const value = backend.zeros([2])
    using optimizer = new Adam([{ name: 'v', backend, value }])
    const reported: boolean[] = []
    const training = fit({
      data: Dataset.fromArray([1, 2, 3]),
      async batchGradients(step) {
        if (step === 3) throw new Error('no batch')
        const data = new Float32Array(2).fill(step === 2 ? Number.NaN : 1)
        return { loss: 0, gradients: [backend.tensor({ data, shape: [2] })] }
      },
      optimizer,
      learningRate: () => 0.1,
      maxSteps: 3,
      onStep: ({ skipped }) => void reported.push(skipped),
    })
    await expect(training).rejects.toThrow('no batch')
    expect(reported).toEqual([false, true])
    expect(optimizer.step).toBe(1)
  })

  it('equals training that reads from the device before each update, whether a step is one graph, two, or none', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: false })
    const asking: Backend = {
      ...{ name: backend.name, reason: backend.reason, dtype: backend.dtype, ops: backend.ops },
      tensor: (host) => backend.tensor(host),
      zeros: (shape, options) => backend.zeros(shape, options),
      owns: (tensor) => backend.owns(tensor),
      rnn: (descriptor) => backend.rnn(descriptor),
      stats: () => backend.stats(),
      dispose: () => {},
      [Symbol.dispose]: () => {},
    }
    const expected = await train(asking, true)
    expect(expected.reports.filter(({ skipped }) => skipped).map(({ step }) => step)).toEqual([8])
    expect(expected.updates).toBe(14)
    for (const graphs of [false, true]) {
      await using other = await open({ algorithm: 'standard', graphs })
      const before = libraries.report().calls['cudaGraphLaunch'] ?? 0
      for (const readsLoss of [false, true]) expect(await train(other, readsLoss)).toEqual(expected)
      expect((libraries.report().calls['cudaGraphLaunch'] ?? 0) > before).toBe(graphs)
      expect(other.stats()).toMatchObject({ tensors: 0, tapes: 0, rnns: 0 })
    }
  })
})
