import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { elementCount } from '@cudnn-rnn/canonical'
import {
  AttentionCellWrapper,
  type CellState,
  Conv1DLSTMCell,
  DropoutWrapper,
  GLSTMCell,
  GRUBlockCell,
  HighwayWrapper,
  LayerNormBasicLSTMCell,
  LSTMCell,
  MultiRNNCell,
  NASCell,
  PhasedLSTMCell,
  ResidualWrapper,
  type RNNCell,
  UGRNNCell,
} from '@cudnn-rnn/cells'
import { openCheckpoint } from '@cudnn-rnn/checkpoint'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dense, lastStep, loadModel, rnn, sequential } from '../../src/index.js'

const FEATURES = 4

/** One of each, and its variables in a checkpoint. */
const CELLS: Readonly<Record<string, readonly [make: () => unknown, keys: readonly string[]]>> = {
  NASCell: [() => new NASCell(3), ['nas_cell/kernel', 'nas_cell/recurrent_kernel']],
  UGRNNCell: [() => new UGRNNCell(3), ['ugrnn_cell/bias', 'ugrnn_cell/kernel']],
  GLSTMCell: [
    () => new GLSTMCell(4, { numberOfGroups: 2 }),
    [...['bias_f', 'bias_i', 'bias_j', 'bias_o', 'group0/kernel', 'group1/kernel'].map((name) => `glstm_cell/${name}`)],
  ],
  PhasedLSTMCell: [
    () => new PhasedLSTMCell(2),
    [
      ...['mask_gates/bias', 'mask_gates/kernel', 'new_input/bias', 'new_input/kernel'],
      ...['output_gate/bias', 'output_gate/kernel', 'period', 'phase', 'ratio_on'],
    ].map((name) => `phased_lstm_cell/${name}`),
  ],
  Conv1DLSTMCell: [
    () => new Conv1DLSTMCell({ inputShape: [2, 2], outputChannels: 1, kernelShape: [2] }),
    ['conv_1d_lstm_cell/biases', 'conv_1d_lstm_cell/kernel'],
  ],
  LayerNormBasicLSTMCell: [
    () => new LayerNormBasicLSTMCell(3, { layerNorm: false }),
    ['layer_norm_basic_lstm_cell/bias', 'layer_norm_basic_lstm_cell/kernel'],
  ],
  wrappers: [
    () => new ResidualWrapper(new DropoutWrapper(new HighwayWrapper(new LSTMCell(FEATURES)), { inputKeepProb: 0.5 })),
    ['carry_b', 'carry_w', 'lstm_cell/bias', 'lstm_cell/kernel'],
  ],
  AttentionCellWrapper: [
    () => new AttentionCellWrapper(new UGRNNCell(2), 2),
    [
      ...['attention/attn_v', 'attention/attn_w', 'attention/bias', 'attention/kernel'],
      ...['attn_output_projection/bias', 'attn_output_projection/kernel', 'bias', 'kernel'],
      ...['ugrnn_cell/bias', 'ugrnn_cell/kernel'],
    ].map((name) => `attention_cell_wrapper/${name}`),
  ],
  MultiRNNCell: [
    () => new MultiRNNCell([new UGRNNCell(3)]),
    ['multi_rnn_cell/cell_0/ugrnn_cell/bias', 'multi_rnn_cell/cell_0/ugrnn_cell/kernel'],
  ],
}

const cellOf = (make: () => unknown) => make() as RNNCell<CellState>
const waves = (shape: readonly number[]) => ({
  data: Float32Array.from({ length: elementCount(shape) }, (_, k) => Math.sin(0.7 * k + 0.3)),
  shape,
})

let directory = ''
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cell-layer-'))
})
afterAll(() => rm(directory, { recursive: true }))

describe('rnn(cell)', () => {
  test.each(Object.entries(CELLS))(
    '%s streams, and is saved under the names of dynamic_rnn',
    async (kind, [make, keys]) => {
      using backend = openReferenceBackend()
      using model = sequential(backend, [rnn(cellOf(make))], { inputSize: FEATURES, seed: 1 })
      const x = waves([3, 2, FEATURES])
      const whole = await model.predict(x)
      using stream = model.stream({ batch: 2 })
      const rows: number[] = []
      for (let t = 0; t < 3; t++) {
        const step = { data: x.data.slice(t * 2 * FEATURES, (t + 1) * 2 * FEATURES), shape: [2, FEATURES] }
        rows.push(...(await stream.step(step)).data)
      }
      for (const [k, value] of rows.entries()) expect(value).toBeCloseTo(whole.data[k], 6)

      const path = join(directory, kind)
      await model.save(path)
      const reader = await openCheckpoint(path)
      expect(
        reader
          .names()
          .filter((name) => name.startsWith('rnn/'))
          .sort(),
      ).toEqual(keys.map((key) => `rnn/${key}`))
      await reader.close()
      using again = await loadModel(backend, path, { layers: { rnn: rnn(cellOf(make)) } })
      expect(await again.predict(x)).toEqual(whole)
    },
  )

  test('gives the same numbers on the cpu executor, whose kernels compute the products', async () => {
    const features = 48
    const layers = () => [
      rnn(new ResidualWrapper(new LayerNormBasicLSTMCell(features))),
      rnn(new GLSTMCell(32, { numberOfGroups: 2, numProj: 16 })),
      rnn(new LSTMCell(20, { usePeepholes: true, numProj: 16 })),
      rnn(new AttentionCellWrapper(new GRUBlockCell(16), 3)),
      rnn(new NASCell(16)),
      rnn(new Conv1DLSTMCell({ inputShape: [4, 4], outputChannels: 8, kernelShape: [3] })),
    ]
    const x = waves([3, 5, features])
    const dy = waves([3, 5, 32])
    const results = []
    for (const backend of [openReferenceBackend(), openCpuBackend({ threads: 2 })]) {
      using opened = backend
      using model = sequential(opened, layers(), { inputSize: features, seed: 3 })
      const { output, tape } = await model.call(x, { sequenceLengths: [3, 0, 2, 3, 1] })
      const { input, variables } = await model.gradients(tape!, dy)
      const tensors = await Promise.all([output, input!, ...variables].map((tensor) => tensor.read()))
      results.push(tensors.map(({ data }) => data.slice()))
    }
    const [expected, actual] = results as [Float32Array[], Float32Array[]]
    for (const [k, tensor] of expected.entries()) {
      const scale = Math.max(1, ...tensor.map(Math.abs))
      for (const [n, value] of tensor.entries()) expect(Math.abs(actual[k][n] - value) / scale).toBeLessThan(2e-5)
    }
  })

  test('trains a cell with dropout: a restored run draws the masks that it would have drawn', async () => {
    using backend = openReferenceBackend()
    const make = () => [rnn(new LayerNormBasicLSTMCell(4, { dropoutKeepProb: 0.5 })), lastStep(), dense({ units: 1 })]
    using model = sequential(backend, make(), { inputSize: FEATURES, seed: 1 })
    const x = waves([4, 3, FEATURES])
    const state = await model.randomState()
    const output = async () => (await (await model.call(x)).output.read()).data.slice()
    const first = await output()
    expect(await output()).not.toEqual(first)
    model.restoreRandomState(state)
    expect(await output()).toEqual(first)
    const data = [{ input: x, labels: { data: Float32Array.of(0.5, -0.5, 0.2), shape: [3, 1] } }]
    const before = (await model.evaluate(data, { loss: 'mean_squared_error' })).loss
    await model.fit(data, { loss: 'mean_squared_error', epochs: 60, learningRate: 0.05 })
    expect((await model.evaluate(data)).loss).toBeLessThan(0.5 * before)
  })
})
