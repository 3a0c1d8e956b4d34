import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LSTMCell } from '@cudnn-rnn/cells'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { CudnnLSTM } from '@cudnn-rnn/models'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, Dataset, fit, type TokenWindow, truncatedWindows } from '@cudnn-rnn/train'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  cudnnGRU,
  cudnnLSTM,
  dense,
  embedding,
  type LayerBatch,
  type LayerDefinition,
  type ModelFitOptions,
  rnn,
  sequential,
} from '../../src/index.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-carried-'))
})
afterEach(() => rm(directory, { recursive: true }))

const [T, B, V, E, H, L] = [5, 3, 7, 4, 6, 2]
const IDS = Int32Array.from({ length: 120 }, (_, n) => (n * n + 3 * n + (n % 5)) % V)
const windows = (time: number, batch: number) => new Dataset(truncatedWindows(IDS, { time, batch }))
const batchOf = ({ inputs, labels, restarts }: TokenWindow): LayerBatch => ({ input: inputs, labels, restarts })

const model = (backend: Backend, layers: readonly LayerDefinition[] = [cudnnLSTM({ numUnits: H, numLayers: L })]) =>
  sequential(
    backend,
    [embedding({ size: V, units: E, initializer: { uniform: 0.5 } }), ...layers, dense({ units: V })],
    { seed: 4 },
  )

const FIT = { loss: 'softmax_cross_entropy', learningRate: 0.02, maxSteps: 20 } as const

/** Losses of a training written by hand, the states in separate tensors. */
async function byHand(backend: Backend): Promise<number[]> {
  const { ops } = backend
  using own = model(backend)
  const [table, params, kernel, bias] = own.variables
  const lstm = new CudnnLSTM(backend, { numLayers: L, numUnits: H, inputSize: E, inputMode: 'linear_input' })
  const state = ['h', 'c'].map((name) => ({ name, backend, value: backend.zeros(lstm.stateShape(B)) }))
  const losses: number[] = []
  await fit({
    data: windows(T, B).repeat(),
    async batchGradients({ inputs, labels, restarts }) {
      for (const { value } of state) if (restarts) ops.assign(value, backend.zeros(value.shape))
      const x = ops.embedding(table.value, inputs)
      const run = await lstm.call(x, state[0].value, state[1].value, params)
      const { loss, logitsGradient } = ops.softmaxCrossEntropy(ops.linear(run.output, kernel.value, bias.value), labels)
      const top = ops.linearGradients(run.output, kernel.value, logitsGradient)
      const bottom = await lstm.gradients(run.tape, { output: top.input })
      ops.assign(state[0].value, run.outputH)
      ops.assign(state[1].value, run.outputC)
      return { loss, gradients: [ops.embeddingGradient(V, inputs, bottom.input), bottom.params, top.kernel, top.bias] }
    },
    optimizer: new Adam(own.variables),
    learningRate: FIT.learningRate,
    maxSteps: FIT.maxSteps,
    onStep: ({ loss }) => void losses.push(loss),
  })
  return losses
}

describe.each([
  ['reference', openReferenceBackend],
  ['cpu', openCpuBackend],
] as const)('on %s', (_, open) => {
  it('windows of one text train as a loop written by hand', async () => {
    // The loop leaves its tensors to the collector, so that they must not be counted below.
    using apart = open()
    const expected = await byHand(apart)
    using backend = open()
    using own = model(backend)
    const { tensors } = backend.stats()
    const losses: number[] = []
    await own.fit(windows(T, B).map(batchOf), { ...FIT, onStep: ({ loss }) => void losses.push(loss) })
    expect(losses).toEqual(expected)
    expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
    // Carried or not, it makes a difference.
    using fresh = model(backend)
    const forgetful: number[] = []
    const alone = windows(T, B).map(({ inputs, labels }): LayerBatch => ({ input: inputs, labels }))
    await fresh.fit(alone, { ...FIT, onStep: ({ loss }) => void forgetful.push(loss) })
    expect(forgetful[0]).toBe(losses[0])
    expect(forgetful[1]).not.toBe(losses[1])
  })

  it('a run that ends between two windows resumes with their state', async () => {
    using backend = open()
    const train = async (checkpoints: string, steps: readonly number[]) => {
      const losses: number[] = []
      for (const maxSteps of steps) {
        using own = model(backend)
        const onStep: ModelFitOptions['onStep'] = ({ loss }) => void losses.push(loss)
        await own.fit(windows(T, B).map(batchOf), { ...FIT, maxSteps, checkpoints, onStep })
      }
      return losses
    }
    expect(await train(join(directory, 'cut'), [10, 20])).toEqual(await train(join(directory, 'whole'), [20]))
  })

  it('evaluate reads a text in windows as in one piece', async () => {
    using backend = open()
    const layers = [cudnnGRU({ numUnits: H }), cudnnLSTM({ numUnits: H, numProj: 3 }), rnn(new LSTMCell(4))]
    using own = model(backend, layers)
    const loss = 'softmax_cross_entropy'
    const whole = await own.evaluate(windows(35, B).map(batchOf), { loss })
    const { tensors } = backend.stats()
    const parts = await own.evaluate(windows(T, B).map(batchOf), { loss })
    expect(parts.loss).toBeCloseTo(whole.loss, 5)
    expect(parts['accuracy']).toBeCloseTo(whole['accuracy'], 9)
    expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
  })
})

it('custom metrics take the place of those of validation data', async () => {
  using backend = openReferenceBackend()
  using own = model(backend)
  const seen: unknown[] = []
  const data = windows(T, B).map(batchOf)
  const evaluate = async () => ({ bits: (await own.evaluate(data)).loss / Math.LN2 })
  const onStep: ModelFitOptions['onStep'] = ({ metrics }) => void (metrics && seen.push(Object.keys(metrics)))
  const watched = { evaluate, evaluateEvery: 10, earlyStopping: { metric: 'bits' } }
  const result = await own.fit(data, { ...FIT, ...watched, onStep })
  expect(seen).toEqual([['bits'], ['bits']])
  expect(result.best?.step).toBe(20)
  await expect(own.fit(data, { ...FIT, ...watched, validation: data })).rejects.toThrow(/evaluate must be absent/)
})

it('refused: states through both directions, a restart that is not a boolean, a batch of another size', async () => {
  using backend = openReferenceBackend()
  using both = model(backend, [cudnnLSTM({ numUnits: H, direction: 'bidirectional' })])
  const data = windows(T, B).map(batchOf)
  await expect(both.fit(data, FIT)).rejects.toThrow(coded('ERR_BIDIRECTIONAL_STREAM'))
  await expect(both.fit(data, FIT)).rejects.toThrow(/cudnn_lstm \(cudnnLSTM\)/)
  using own = model(backend)
  const wrong = data.map((batch) => ({ ...batch, restarts: 1 as never }))
  await expect(own.fit(wrong, FIT)).rejects.toThrow(coded('ERR_EXAMPLE'))
  const [first, second] = await Promise.all(
    [2, 3].map(async (rows) => {
      for await (const window of windows(T, rows)) return batchOf(window)
      throw new Error('no window')
    }),
  )
  const { tensors } = backend.stats()
  await expect(own.fit([first, { ...second, restarts: false }], FIT)).rejects.toThrow(coded('ERR_SHAPE'))
  expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
})
