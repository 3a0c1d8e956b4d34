import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { elementCount } from '@cudnn-rnn/canonical'
import {
  AttentionCellWrapper,
  BasicLSTMCell,
  BasicRNNCell,
  type CellState,
  Conv1DLSTMCell,
  Conv2DLSTMCell,
  Conv3DLSTMCell,
  CudnnCompatibleGRUCell,
  CudnnCompatibleLSTMCell,
  DropoutWrapper,
  GLSTMCell,
  GRUBlockCell,
  HighwayWrapper,
  LayerNormBasicLSTMCell,
  LSTMBlockCell,
  LSTMCell,
  MultiRNNCell,
  NASCell,
  PhasedLSTMCell,
  ResidualWrapper,
  type RNNCell,
  UGRNNCell,
} from '@cudnn-rnn/cells'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { openWasmBackend } from '@cudnn-rnn/wasm'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { dense, lastStep, rnn, sequential } from '../src/index.js'

const FEATURES = 8
const [TIME, BATCH] = [4, 3]
const LENGTHS = [4, 2, 0]
const TOLERANCE = 2e-5

const conv = { outputChannels: 2 }

/** Every rare cell and wrapper of tf.contrib.rnn; masks are drawn from the same seeds everywhere. */
const CELLS: Readonly<Record<string, () => unknown>> = {
  NASCell: () => new NASCell(5, { useBias: true, numProj: 3 }),
  UGRNNCell: () => new UGRNNCell(5),
  PhasedLSTMCell: () => new PhasedLSTMCell(5, { usePeepholes: true, periodInitMax: 4 }),
  'PhasedLSTMCell of a fixed ratio': () => new PhasedLSTMCell(5, { trainableRatioOn: false, ratioOn: 0.5, leak: 0.1 }),
  GLSTMCell: () => new GLSTMCell(6, { numberOfGroups: 2, numProj: 4 }),
  Conv1DLSTMCell: () => new Conv1DLSTMCell({ ...conv, inputShape: [4, 2], kernelShape: [3], skipConnection: true }),
  Conv2DLSTMCell: () => new Conv2DLSTMCell({ ...conv, inputShape: [2, 2, 2], kernelShape: [3, 2], useBias: false }),
  Conv3DLSTMCell: () => new Conv3DLSTMCell({ ...conv, inputShape: [2, 2, 1, 2], kernelShape: [1, 2, 2] }),
  LayerNormBasicLSTMCell: () => new LayerNormBasicLSTMCell(5, { dropoutKeepProb: 0.7, dropoutProbSeed: 3 }),
  'LayerNormBasicLSTMCell without normalization': () => new LayerNormBasicLSTMCell(5, { layerNorm: false }),
  ResidualWrapper: () => new ResidualWrapper(new NASCell(FEATURES)),
  HighwayWrapper: () => new HighwayWrapper(new UGRNNCell(FEATURES)),
  'HighwayWrapper with two gates': () =>
    new HighwayWrapper(new UGRNNCell(FEATURES), { coupleCarryTransformGates: false }),
  DropoutWrapper: () =>
    new DropoutWrapper(new UGRNNCell(5), { inputKeepProb: 0.8, outputKeepProb: 0.6, stateKeepProb: 0.7, seed: 2 }),
  'DropoutWrapper, variational': () =>
    new DropoutWrapper(new NASCell(5), { inputKeepProb: 0.8, stateKeepProb: 0.7, variationalRecurrent: true }),
  AttentionCellWrapper: () => new AttentionCellWrapper(new NASCell(5), 3, { attnVecSize: 4, attnSize: 6 }),
  'MultiRNNCell of wrappers': () =>
    new MultiRNNCell([
      new HighwayWrapper(new UGRNNCell(FEATURES)),
      new LayerNormBasicLSTMCell(4),
      new ResidualWrapper(new UGRNNCell(4)),
    ]),
  'ResidualWrapper of an LSTMCell': () => new ResidualWrapper(new LSTMCell(FEATURES)),
  'HighwayWrapper of an LSTMCell with peepholes, clips and projection': () =>
    new HighwayWrapper(new LSTMCell(5, { cellClip: 0.1, usePeepholes: true, numProj: FEATURES, projClip: 0.05 })),
  'DropoutWrapper of an LSTMBlockCell': () =>
    new DropoutWrapper(new LSTMBlockCell(5, { cellClip: 0.1, usePeephole: true, preactivationClip: 0.4 }), {
      outputKeepProb: 0.6,
      seed: 2,
    }),
  'AttentionCellWrapper of a BasicLSTMCell': () =>
    new AttentionCellWrapper(new BasicLSTMCell(5, { activation: 'relu' }), 3),
  'ResidualWrapper of a GRUBlockCell': () =>
    new ResidualWrapper(new GRUBlockCell(FEATURES, { preactivationClip: 0.5 })),
  'DropoutWrapper of a CudnnCompatibleGRUCell': () =>
    new DropoutWrapper(new CudnnCompatibleGRUCell(5), { stateKeepProb: 0.7, seed: 4 }),
  'HighwayWrapper of a BasicRNNCell': () => new HighwayWrapper(new BasicRNNCell(FEATURES, { preactivationClip: 0.3 })),
  'MultiRNNCell of LSTM, GRU and plain RNN': () =>
    new MultiRNNCell([
      new CudnnCompatibleLSTMCell(4),
      new GRUBlockCell(5),
      new BasicRNNCell(3, { activation: 'relu' }),
    ]),
}

const waves = (shape: readonly number[], phase = 0.3) => ({
  data: Float32Array.from({ length: elementCount(shape) }, (_, k) => Math.sin(0.7 * k + phase)),
  shape,
})

/** Output, final states and every gradient of two passes in training, the second from the states of the first. */
async function passes(backend: Backend, make: () => unknown): Promise<Float32Array[]> {
  using model = sequential(backend, [rnn(make() as RNNCell<CellState>)], { inputSize: FEATURES, seed: 3 })
  const found: Float32Array[] = []
  const x = waves([TIME, BATCH, FEATURES])
  let states: Awaited<ReturnType<typeof model.call>>['states'] | null = null
  for (const sequenceLengths of [LENGTHS, null]) {
    const { output, tape, states: next } = await model.call(x, { sequenceLengths, states, keepStates: true })
    const gradients = await model.gradients(tape!, waves(output.shape, 1))
    const tensors = [output, ...next, gradients.input!, ...gradients.variables]
    found.push(
      ...(await Promise.all(tensors.map(async (tensor) => (await tensor.read()).data.slice() as Float32Array))),
    )
    for (const tensor of [output, ...(states ?? []), gradients.input!, ...gradients.variables]) tensor.dispose()
    states = next
  }
  for (const tensor of states ?? []) tensor.dispose()
  const whole = await model.predict(x)
  using stream = model.stream({ batch: BATCH })
  const length = BATCH * FEATURES
  const rows: number[] = []
  for (let t = 0; t < TIME; t++) {
    const step = { data: x.data.slice(t * length, (t + 1) * length), shape: [BATCH, FEATURES] }
    rows.push(...(await stream.step(step)).data)
  }
  expectClose('stream', [Float32Array.from(rows)], [whole.data as Float32Array])
  const saved = await stream.state()
  const more = async () => (await stream.step({ data: x.data.slice(0, length), shape: [BATCH, FEATURES] })).data.slice()
  const after = await more()
  stream.restore(saved)
  expect(await more()).toEqual(after)
  stream.reset([1])
  const partly = await more()
  stream.restore(saved)
  stream.reset()
  const first = await more()
  const width = first.length / BATCH
  expectClose('reset', [first as Float32Array], [Float32Array.from(rows.slice(0, first.length))])
  expect(partly.slice(width, 2 * width)).toEqual(first.slice(width, 2 * width))
  return [...found, whole.data as Float32Array]
}

function expectClose(what: string, actual: readonly Float32Array[], expected: readonly Float32Array[]): void {
  expect(actual).toHaveLength(expected.length)
  for (const [k, tensor] of expected.entries()) {
    const scale = Math.max(1, ...tensor.map(Math.abs))
    const worst = Math.max(...tensor.map((value, n) => Math.abs(actual[k][n] - value) / scale))
    expect(worst, `${what}: tensor ${k}`).toBeLessThan(TOLERANCE)
  }
}

const expected = new Map<string, Promise<Float32Array[]>>()
const libraries = openCudaEmulator(9)
const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
afterAll(() => rmSync(cacheDir, { recursive: true }))

async function ofReference(kind: string): Promise<Float32Array[]> {
  const known = expected.get(kind)
  if (known !== undefined) return known
  using backend = openReferenceBackend()
  const made = passes(backend, CELLS[kind])
  expected.set(kind, made)
  return await made
}

describe.each<[string, () => Backend | Promise<Backend>]>([
  ['cpu', () => openCpuBackend({ threads: 2 })],
  ['wasm', () => openWasmBackend()],
])('on %s', (_, open) => {
  test.each(Object.keys(CELLS))('%s has the outputs, states and gradients of the reference', async (kind) => {
    using backend = await open()
    expectClose(kind, await passes(backend, CELLS[kind]), await ofReference(kind))
  })
})

describe.skipIf(libraries.problem !== undefined)(`on cudnn (${libraries.problem ?? 'imitated GPU'})`, () => {
  if (libraries.problem !== undefined) return
  const open = () => openCudnnBackend({ libraryDir: libraries.folder, cacheDir, algorithm: 'standard', graphs: true })
  const calls = (name: string) => libraries.report().calls[name] ?? 0
  beforeEach(() => libraries.configure('reset'))

  test.each(Object.keys(CELLS))('%s has the outputs, states and gradients of the reference', async (kind) => {
    await using backend = await open()
    expectClose(kind, await passes(backend, CELLS[kind]), await ofReference(kind))
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    expect(libraries.report().violations).toEqual([])
  })

  const examples = Array.from({ length: 6 }, (_, n) => ({ input: waves([TIME, FEATURES], n), label: n % 2 }))
  const losses = async (backend: Backend, make: () => unknown) => {
    const layers = [rnn(make() as RNNCell<CellState>), lastStep(), dense({ units: 2 })]
    using model = sequential(backend, layers, { inputSize: FEATURES, seed: 1 })
    const found: number[] = []
    const onStep = ({ loss }: { readonly loss: number }) => void found.push(loss)
    await model.fit(examples, { loss: 'softmax_cross_entropy', batchSize: 3, maxSteps: 7, learningRate: 0.02, onStep })
    return found
  }

  test.each(Object.keys(CELLS))(
    '%s trains with the losses of the reference, each step one command list',
    async (kind) => {
      await using backend = await open()
      using reference = openReferenceBackend()
      const own = await losses(backend, CELLS[kind])
      for (const [step, loss] of (await losses(reference, CELLS[kind])).entries())
        expect(own[step]).toBeCloseTo(loss, 4)
      // Steps from the third on are replayed: one launch each.
      expect(calls('cudaGraphLaunch')).toBeGreaterThanOrEqual(4)
      expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
      expect(libraries.report().violations).toEqual([])
    },
  )
})
