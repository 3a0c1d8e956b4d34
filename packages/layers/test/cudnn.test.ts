import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Dataset, truncatedWindows } from '@cudnn-rnn/train'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  activation,
  add,
  attentionPooling,
  concat,
  conv1d,
  conv2d,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  lastStep,
  layerNorm,
  maxOverTime,
  maxPool2d,
  meanOverTime,
  multiply,
  reverse,
  sequential,
} from '../src/index.js'
import { SENTENCES } from './small_data.js'

const libraries = openCudaEmulator(9)
const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
afterAll(() => rmSync(cacheDir, { recursive: true }))

/** Every layer whose steps can stay on the device. */
const everyLayer = (backend: Backend) =>
  sequential(
    backend,
    [
      embedding({ size: 5, units: 4 }),
      dropout({ rate: 0.2 }),
      cudnnLSTM({ numUnits: 6, direction: 'bidirectional' }),
      layerNorm(),
      reverse(),
      dense({ units: 5, activation: 'tanh' }),
      concat([lastStep(), meanOverTime(), maxOverTime(), attentionPooling({ units: 3 })]),
      dense({ units: 4, activation: 'softplus' }),
      dense({ units: 2 }),
    ],
    { seed: 1 },
  )

// Sentences of one length make steps of one form.
const LENGTH = 4
const EXAMPLES = SENTENCES.map(({ input, label }) => ({ input: [...input, ...input].slice(0, LENGTH), label }))
const BATCH = 8
const FIT = { loss: 'softmax_cross_entropy', batchSize: BATCH, learningRate: 0.02 } as const

describe.skipIf(libraries.problem !== undefined)(`on cudnn (${libraries.problem ?? 'imitated GPU'})`, () => {
  if (libraries.problem !== undefined) return
  const open = () => openCudnnBackend({ libraryDir: libraries.folder, cacheDir, algorithm: 'standard', graphs: true })
  const calls = (name: string) => libraries.report().calls[name] ?? 0
  beforeEach(() => libraries.configure('reset'))

  const losses = async (backend: Backend, maxSteps: number) => {
    using model = everyLayer(backend)
    const found: number[] = []
    await model.fit(EXAMPLES, { ...FIT, maxSteps, onStep: ({ loss }) => void found.push(loss) })
    return found
  }

  it('training has the losses of the reference, the masks of dropout included, and leaves nothing', async () => {
    await using backend = await open()
    using reference = openReferenceBackend()
    const [own, expected] = [await losses(backend, 9), await losses(reference, 9)]
    for (const [step, loss] of own.entries()) expect(loss).toBeCloseTo(expected[step], 4)
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    expect(libraries.report().violations).toEqual([])
  })

  it("training with loss 'ctc' computes it by cuDNN, with the losses of the reference, and replays steps", async () => {
    const examples = Array.from({ length: 8 }, (_, n) => ({
      input: { data: Float32Array.from({ length: 6 * 3 }, (_, k) => Math.sin(3 * k + n)), shape: [6, 3] },
      label: [n % 3, (n + 1) % 3],
    }))
    const trained = async (backend: Backend) => {
      using model = sequential(backend, [cudnnLSTM({ numUnits: 5, inputSize: 3 }), dense({ units: 4 })], { seed: 1 })
      const found: number[] = []
      const onStep = ({ loss }: { readonly loss: number }) => void found.push(loss)
      await model.fit(examples, { loss: 'ctc', batchSize: 4, maxSteps: 8, learningRate: 0.02, onStep })
      return found
    }
    await using backend = await open()
    using reference = openReferenceBackend()
    const [own, expected] = [await trained(backend), await trained(reference)]
    expect(own).toHaveLength(8)
    for (const [step, loss] of own.entries()) expect(loss).toBeCloseTo(expected[step], 4)
    expect(calls('cudnnCTCLoss_v8')).toBeGreaterThan(0)
    expect(calls('cudaGraphLaunch')).toBeGreaterThan(2)
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    expect(libraries.report().violations).toEqual([])
  })

  it('convolutions, poolings, sums and products have the losses and outputs of the reference, and leave nothing', async () => {
    const layers = [
      embedding({ size: 5, units: 8 }),
      conv2d({ height: 4, filters: 3, kernelSize: [3, 2], padding: 'same', activation: 'tanh' }),
      maxPool2d({ height: 4, poolSize: [2, 2], strides: [1, 2], padding: 'same' }),
      conv1d({ filters: 6, kernelSize: 2, padding: 'causal' }),
      activation('relu', { maximum: 0.5 }),
      add([[], cudnnLSTM({ numUnits: 6 })]),
      multiply([[], dense({ units: 6, activation: 'sigmoid' })]),
      lastStep(),
      dense({ units: 2 }),
    ]
    const run = async (backend: Backend) => {
      using model = sequential(backend, layers, { seed: 3 })
      const found: number[] = []
      await model.fit(SENTENCES, { ...FIT, maxSteps: 6, onStep: ({ loss }) => void found.push(loss) })
      const outputs = await model.predict(SENTENCES.slice(0, 5).map(({ input }) => input))
      return [...found, ...outputs.flatMap(({ data }) => [...data])]
    }
    await using backend = await open()
    using reference = openReferenceBackend()
    const [own, expected] = [await run(backend), await run(reference)]
    for (const [index, value] of own.entries()) expect(value).toBeCloseTo(expected[index], 4)
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    expect(libraries.report().violations).toEqual([])
  })

  it('windows with carried states have the losses of the reference, each step one graph', async () => {
    const trained = async (backend: Backend, onStep?: () => void) => {
      using model = sequential(
        backend,
        [embedding({ size: 5, units: 4 }), cudnnLSTM({ numUnits: 6, numLayers: 2 }), dense({ units: 5 })],
        { seed: 1 },
      )
      const found: number[] = []
      const ids = Int32Array.from({ length: 200 }, (_, n) => (n * n + (n % 7)) % 5)
      const windows = new Dataset(truncatedWindows(ids, { time: 4, batch: 4 }))
      const report = ({ loss }: { readonly loss: number }) => {
        found.push(loss)
        onStep?.()
      }
      await model.fit(
        windows.map(({ inputs, labels, restarts }) => ({ input: inputs, labels, restarts })),
        { loss: 'softmax_cross_entropy', learningRate: 0.02, maxSteps: 11, evaluateEvery: 1, onStep: report },
      )
      return found
    }
    await using backend = await open()
    using reference = openReferenceBackend()
    const launched: number[] = []
    const own = await trained(backend, () => void launched.push(calls('cudaGraphLaunch')))
    const expected = await trained(reference)
    for (const [step, loss] of own.entries()) expect(loss).toBeCloseTo(expected[step], 4)
    expect(launched.at(-1)! - launched.at(-4)!).toBe(3)
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    expect(libraries.report().violations).toEqual([])
  })

  it('a step is one graph, and only ids, labels and rates cross the bus', async () => {
    await using backend = await open()
    using model = everyLayer(backend)
    const launched: number[] = []
    const copied: { readonly up: number; readonly down: number }[] = []
    const onStep = () => {
      launched.push(calls('cudaGraphLaunch'))
      const { 'host to device': up = 0, 'device to host': down = 0 } = libraries.report().copied
      copied.push({ up, down })
    }
    // A step that is evaluated is over when it is reported; of others the next one is queued by then.
    await model.fit(EXAMPLES, { ...FIT, maxSteps: 12, evaluateEvery: 1, onStep })
    expect(launched.at(-1)! - launched.at(-4)!).toBe(3)
    const [before, after] = copied.slice(-2)
    const ids = 4 * BATCH * LENGTH
    const labels = 4 * BATCH
    // A launch of Adam updates up to four variables.
    const adamNumbers = 7 * 4 * Math.ceil(model.variables.length / 4)
    // Three of dropout, forward and backward; the ε of a normalization, twice; the one of four sums of gradients; the one of
    // Adam's count.
    const scalars = 4 * (2 * 3 + 2 + 4 + 1)
    // Ids for the lookup and its gradient.
    expect(after.up - before.up).toBe(2 * ids + labels + adamNumbers + scalars)
    expect(after.down - before.down).toBe(2 * 4)
  })
})
