import type { Tensor } from '@cudnn-rnn/canonical'
import {
  BasicRNNCell,
  Conv1DLSTMCell,
  HighwayWrapper,
  LayerNormBasicLSTMCell,
  LSTMCell,
  MultiRNNCell,
  ResidualWrapper,
  UGRNNCell,
} from '@cudnn-rnn/cells'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import {
  activation,
  add,
  attention,
  attentionPooling,
  concat,
  conv1d,
  conv2d,
  cudnnGRU,
  cudnnLSTM,
  cudnnRNNRelu,
  cudnnRNNTanh,
  dense,
  dropout,
  embedding,
  type LayerDefinition,
  lastStep,
  layerNorm,
  maxOverTime,
  maxPool1d,
  maxPool2d,
  meanOverTime,
  multiHeadAttention,
  multiply,
  reverse,
  rnn,
  sequential,
  timeDistributed,
} from '../src/index.js'
import { timeSoftmax } from '../src/kinds/attention.js'
import { branching } from '../src/kinds/branch_layer.js'
import { columnScale, columnSlope } from '../src/kinds/column_layers.js'
import { convLstm } from '../src/kinds/conv_lstm.js'
import { groupNorm } from '../src/kinds/group_norm.js'
import { rearrange } from '../src/kinds/rearrange.js'
import { stepOf, sumOverTime } from '../src/kinds/sequence_pooling.js'
import { stepFunction } from '../src/kinds/step_function.js'
import { averagePool1d, averagePool2d, spreadRows, spreadSteps } from '../src/kinds/step_windows.js'
import { waves } from './small_data.js'

const [TIME, BATCH, FEATURES] = [4, 3, 5]
const LENGTHS = [4, 2, 3]
const dtype = 'float64' as const

const CASES: Readonly<Record<string, readonly LayerDefinition[]>> = {
  dense: [dense({ units: 3, biasInitializer: 0.2 })],
  'dense with tanh': [dense({ units: 3, activation: 'tanh' })],
  'dense with softmax': [dense({ units: 3, activation: 'softmax' })],
  activation: [activation('softplus')],
  'activation with a maximum': [activation('relu', { maximum: 0.5 })],
  conv1d: [conv1d({ filters: 3, kernelSize: 2, activation: 'tanh', biasInitializer: 0.1 })],
  'conv1d, same, strides': [conv1d({ filters: 2, kernelSize: 3, strides: 2, padding: 'same' })],
  'conv1d, zeros by number': [conv1d({ filters: 2, kernelSize: 3, strides: 2, padding: 1 })],
  'conv1d, causal': [conv1d({ filters: 2, kernelSize: 3, padding: 'causal' }), cudnnGRU({ numUnits: 2 })],
  conv2d: [conv2d({ height: 5, filters: 2, kernelSize: [2, 3], strides: [1, 2], activation: 'sigmoid' })],
  'conv2d and maxPool2d, same': [
    conv2d({ height: 5, filters: 3, kernelSize: [3, 3], padding: 'same', activation: 'elu' }),
    maxPool2d({ height: 5, padding: 'same' }),
    dense({ units: 2 }),
  ],
  'maxPool1d, overlapping': [maxPool1d({ poolSize: 2, strides: 1 })],
  'maxPool1d, same': [maxPool1d({ poolSize: 3, strides: 2, padding: 'same' })],
  'add with a skip': [add([[], [cudnnGRU({ numUnits: FEATURES }), dense({ units: FEATURES })]])],
  'multiply with a gate': [multiply([[], dense({ units: FEATURES, activation: 'sigmoid' })])],
  'multiply of two chains': [multiply([dense({ units: 2 }), [layerNorm(), dense({ units: 2, activation: 'tanh' })]])],
  layerNorm: [layerNorm()],
  dropout: [dropout({ rate: 0 })],
  reverse: [reverse()],
  lastStep: [lastStep()],
  meanOverTime: [meanOverTime()],
  sumOverTime: [sumOverTime({})],
  stepOf: [stepOf({ step: 1 })],
  maxOverTime: [maxOverTime()],
  attentionPooling: [attentionPooling({ units: 4 })],
  'attentionPooling with linear scores': [attentionPooling({ isLinear: true })],
  timeDistributed: [timeDistributed(dense({ units: 2, activation: 'sigmoid' }))],
  'concat of poolings': [concat([lastStep(), meanOverTime(), [maxOverTime(), dense({ units: 2 })]])],
  'concat with a skip': [concat([[], dense({ units: 2 }), cudnnGRU({ numUnits: 3 })])],
  cudnnLSTM: [cudnnLSTM({ numUnits: 3, numLayers: 2, forgetBias: 1 })],
  'cudnnLSTM with a projection': [cudnnLSTM({ numUnits: 4, numProj: 2 })],
  'cudnnGRU, both directions, last step': [cudnnGRU({ numUnits: 3, direction: 'bidirectional' }), lastStep()],
  cudnnRNNRelu: [cudnnRNNRelu({ numUnits: 3, biasInitializer: 0.1 })],
  cudnnRNNTanh: [cudnnRNNTanh({ numUnits: 3 })],
  'rnn of cells': [rnn(new MultiRNNCell([new LSTMCell(3, { dtype }), new BasicRNNCell(2, { dtype })]))],
  'rnn of rare cells and wrappers': [
    rnn(new ResidualWrapper(new LayerNormBasicLSTMCell(FEATURES, { dtype }))),
    rnn(new HighwayWrapper(new UGRNNCell(FEATURES, { dtype }))),
  ],
  'rnn of a convolution': [
    dense({ units: 4 }),
    rnn(new Conv1DLSTMCell({ dtype, inputShape: [2, 2], outputChannels: 1, kernelShape: [2] })),
  ],
  ...Object.fromEntries(
    (
      [
        ...([
          'relu',
          'elu',
          'selu',
          'silu',
          'gelu',
          'mish',
          'softsign',
          'exponential',
          'hard_sigmoid',
          'hard_silu',
        ] as const),
        ...(['hard_tanh', 'log_sigmoid', 'log_softmax', 'squareplus', 'sparse_plus'] as const),
        ...(['tanh_shrink', 'soft_shrink', 'hard_shrink'] as const),
      ] as const
    ).map((name) => [`stepFunction ${name}`, [dense({ units: 3 }), stepFunction({ function: name, slope: 0.3 })]]),
  ),
  'stepFunction line': [stepFunction({ function: 'line', slope: 2, offset: 0.5 })],
  'stepFunction unit and rms': [stepFunction({ function: 'unit' }), stepFunction({ function: 'rms', epsilon: 0.1 })],
  'columnScale of channels, columnSlope': [dense({ units: 4 }), columnScale({ channels: 2 }), columnSlope({})],
  ...Object.fromEntries(
    (['add', 'subtract', 'multiply', 'maximum', 'minimum', 'average'] as const).map((by) => [
      `${by} of columns and one column`,
      [branching(by, [dense({ units: 3 }), dense({ units: 3 }), dense({ units: 1 })], {})],
    ]),
  ),
  averagePool1d: [averagePool1d({ poolSize: 2, strides: 1, padding: 'valid' })],
  'averagePool1d, same': [averagePool1d({ poolSize: 3, strides: 2, padding: 'same' })],
  averagePool2d: [
    dense({ units: 8 }),
    averagePool2d({ height: 4, poolSize: [2, 3], strides: [1, 2], padding: 'same' }),
  ],
  'spreadSteps with zeros between': [spreadSteps({ repeats: 3, isSpaced: true, zerosBefore: 1 })],
  spreadRows: [dense({ units: 6 }), spreadRows({ height: 3, repeats: 2, croppedBefore: 1, zerosAfter: 2 })],
  'spreadRows with zeros between': [spreadRows({ height: 5, repeats: 2, isSpaced: true, croppedAfter: 1 })],
  groupNorm: [dense({ units: 6 }), groupNorm({ groups: 3, channels: 6, epsilon: 0.1 })],
  'groupNorm of pictures': [dense({ units: 8 }), groupNorm({ groups: 2, channels: 4, epsilon: 0.1 }), lastStep()],
  'columnSlope of each step': [columnSlope({ steps: TIME })],
  'timeDistributed over rows': [
    dense({ units: 6 }),
    timeDistributed(dense({ units: 2, activation: 'softmax' }), { height: 3 }),
  ],
  'timeDistributed over sequences': [
    dense({ units: 6 }),
    timeDistributed([cudnnGRU({ numUnits: 2, direction: 'bidirectional' }), dense({ units: 2 })], { steps: 3 }),
    timeDistributed([cudnnLSTM({ numUnits: 2 }), lastStep()], { steps: 2 }),
  ],
  spreadSteps: [spreadSteps({ repeats: 2, croppedBefore: 1, zerosBefore: 1, zerosAfter: 2 })],
  multiHeadAttention: [multiHeadAttention({ heads: 2, keySize: 3, valueSize: 2, units: 4 })],
  'multiHeadAttention, causal': [multiHeadAttention({ heads: 1, keySize: 2, isCausal: true })],
  attention: [attention({ isScaled: true })],
  'attention, additive, causal': [attention({ score: 'additive', isScaled: true, isCausal: true })],
  convLstm: [
    dense({ units: 12 }),
    convLstm({ form: [3], filters: 1, kernelSize: [2], activation: 'tanh', recurrentActivation: 'sigmoid' }),
  ],
  'convLstm of pictures': [
    dense({ units: 16 }),
    convLstm({ form: [2, 2], filters: 1, kernelSize: [2, 1], activation: 'tanh', recurrentActivation: 'sigmoid' }),
  ],
  'attention, concat': [attention({ score: 'concat' })],
  timeSoftmax: [timeSoftmax({})],
  'a whole model': [
    cudnnLSTM({ numUnits: 3, direction: 'bidirectional' }),
    layerNorm(),
    reverse(),
    attentionPooling(),
    dense({ units: 4, activation: 'elu' }),
    dense({ units: 2 }),
  ],
}

describe('gradients equal numerical differentiation to 1e-7', () => {
  for (const [name, layers] of Object.entries(CASES)) {
    test(name, async () => {
      using backend = openReferenceBackend({ dtype })
      using model = sequential(backend, layers, { seed: 3, inputSize: FEATURES })
      await expectTrueGradients(model, backend, waves([TIME, BATCH, FEATURES]))
    })
  }

  test.each([
    ['sequences as vectors', { from: [TIME, FEATURES], to: [TIME * FEATURES] }],
    ['columns as steps', { from: [TIME, FEATURES], to: [FEATURES, TIME], order: [2, 1] }],
    ['axes of vectors', { from: [TIME, 1, FEATURES], to: [FEATURES, TIME], order: [3, 2, 1] }],
    ['vectors as sequences', { from: [6], to: [3, 2] }],
  ])('rearrange: %s', async (_, options) => {
    using backend = openReferenceBackend({ dtype })
    const layers = options.from.length === 1 ? [lastStep(), dense({ units: 6 })] : []
    using model = sequential(backend, [...layers, rearrange(options)], { inputSize: FEATURES })
    await expectTrueGradients(model, backend, waves([TIME, BATCH, FEATURES]), undefined, null)
  })

  test('embedding', async () => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [embedding({ size: 6, units: 3 }), cudnnGRU({ numUnits: 2 })], { seed: 3 })
    const ids = { data: Int32Array.from({ length: TIME * BATCH }, (_, k) => (k * 5) % 6), shape: [TIME, BATCH] }
    await expectTrueGradients(model, backend, ids)
  })

  test('dropout, with the mask that the forward drew', async () => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [dropout({ rate: 0.5 }), dense({ units: 2 })], { seed: 3, inputSize: FEATURES })
    const random = await model.randomState()
    const input = waves([TIME, BATCH, FEATURES])
    await expectTrueGradients(model, backend, input, () => model.restoreRandomState(random))
  })
})

type Model = ReturnType<typeof sequential>

async function expectTrueGradients(
  model: Model,
  backend: ReturnType<typeof openReferenceBackend>,
  input: Tensor,
  before: () => void = () => {},
  sequenceLengths: readonly number[] | null = LENGTHS,
): Promise<void> {
  const options = { sequenceLengths }
  const call = async (x: TensorLike) => {
    before()
    return model.call(x, options)
  }
  const { output, tape } = await call(input)
  const dy = waves(output.shape, [0.7, 0.43, 0.15])
  const lossOf = async (x: TensorLike) => {
    const pass = await call(x)
    const { data } = await pass.output.read()
    pass.tape?.dispose()
    return Array.from(data).reduce((sum, value, k) => sum + value * dy.data[k], 0)
  }
  const analytic = await model.gradients(tape!, dy)
  const delta = 1e-5
  const compare = async (name: string, gradient: BackendTensor, at: Float64Array, moved: () => TensorLike) => {
    const values = (await gradient.read()).data
    const slopes: number[] = []
    for (let k = 0; k < at.length; k++) {
      const value = at[k]
      at[k] = value + delta
      const above = await lossOf(moved())
      at[k] = value - delta
      slopes.push((above - (await lossOf(moved()))) / (2 * delta))
      at[k] = value
    }
    const worst = slopes.reduce((most, slope, k) => Math.max(most, Math.abs(slope - values[k])), 0)
    expect(worst, name).toBeLessThan(1e-7)
    // A number added to the scores of all keys changes no softmax.
    const isZero = name.endsWith('/key_bias')
    const isSteep = slopes.some((slope) => Math.abs(slope) > 1e-3)
    expect(isSteep, `${name} is not zero`).toBe(!isZero)
  }
  if (analytic.input !== undefined) {
    const data = Float64Array.from(input.data)
    await compare('input', analytic.input, data, () => ({ data, shape: input.shape }))
  }
  for (const [index, variable] of model.variables.entries()) {
    // read() of a host executor is a view of the variable itself.
    const { data } = await variable.value.read()
    await compare(variable.name, analytic.variables[index], data as Float64Array, () => input)
  }
  void backend
}
