import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { CellState } from '../../src/cell/cell_state.js'
import {
  AttentionCellWrapper,
  BasicRNNCell,
  Conv1DLSTMCell,
  Conv2DLSTMCell,
  Conv3DLSTMCell,
  DropoutWrapper,
  dynamicRnn,
  type FloatTensor,
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
  staticRnn,
  UGRNNCell,
} from '../../src/index.js'
import { unstackSteps } from '../../src/sequence/sequence_layout.js'
import { anyState, dot, dotState, expectClose, expectGradient, filledLike, float64, leaves } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'

const dtype = 'float64'
const T = 3
const B = 2
const LENGTHS = [3, 1]

/** Cells by the columns of their inputs. */
const CELLS: Readonly<Record<string, readonly [inputSize: number, make: () => unknown]>> = {
  NASCell: [3, () => new NASCell(4, { dtype })],
  'NASCell with bias and projection': [3, () => new NASCell(4, { dtype, useBias: true, numProj: 2 })],
  UGRNNCell: [3, () => new UGRNNCell(4, { dtype })],
  'UGRNNCell relu': [3, () => new UGRNNCell(4, { dtype, activation: 'relu', forgetBias: 0 })],
  PhasedLSTMCell: [3, () => phased({})],
  'PhasedLSTMCell with peepholes, fixed ratio': [3, () => phased({ usePeepholes: true, trainableRatioOn: false })],
  GLSTMCell: [3, () => new GLSTMCell(4, { dtype })],
  'GLSTMCell with groups and projection': [6, () => new GLSTMCell(6, { dtype, numberOfGroups: 3, numProj: 3 })],
  Conv1DLSTMCell: [6, () => new Conv1DLSTMCell({ dtype, inputShape: [3, 2], outputChannels: 2, kernelShape: [2] })],
  'Conv2DLSTMCell without bias': [
    8,
    () => new Conv2DLSTMCell({ dtype, inputShape: [2, 2, 2], outputChannels: 1, kernelShape: [3, 2], useBias: false }),
  ],
  'Conv3DLSTMCell with skip connection': [
    8,
    () => {
      const options = { inputShape: [2, 2, 2, 1], outputChannels: 1, kernelShape: [2, 1, 3], skipConnection: true }
      return new Conv3DLSTMCell({ dtype, ...options })
    },
  ],
  LayerNormBasicLSTMCell: [3, () => new LayerNormBasicLSTMCell(4, { dtype, normGain: 0.9, normShift: 0.1 })],
  'LayerNormBasicLSTMCell with dropout': [3, () => new LayerNormBasicLSTMCell(4, { dtype, dropoutKeepProb: 0.6 })],
  'LayerNormBasicLSTMCell without normalization': [3, () => new LayerNormBasicLSTMCell(4, { dtype, layerNorm: false })],
  'ResidualWrapper of GRUBlockCell': [3, () => new ResidualWrapper(new GRUBlockCell(3, { dtype }))],
  'HighwayWrapper of LSTMCell': [3, () => new HighwayWrapper(new LSTMCell(3, { dtype }))],
  'HighwayWrapper with two gates': [
    3,
    () => new HighwayWrapper(new BasicRNNCell(3, { dtype }), { coupleCarryTransformGates: false, carryBiasInit: 0.5 }),
  ],
  'DropoutWrapper of LSTMCell': [
    3,
    () => {
      const options = { inputKeepProb: 0.7, outputKeepProb: 0.6, stateKeepProb: 0.5, seed: 3 }
      return new DropoutWrapper(new LSTMCell(4, { dtype }), options)
    },
  ],
  'DropoutWrapper, variational': [
    3,
    () => {
      const options = { inputKeepProb: 0.7, outputKeepProb: 0.6, stateKeepProb: 0.5, variationalRecurrent: true }
      return new DropoutWrapper(new GRUBlockCell(4, { dtype }), options)
    },
  ],
  'AttentionCellWrapper of LSTMCell': [3, () => new AttentionCellWrapper(new LSTMCell(4, { dtype }), 3)],
  'AttentionCellWrapper of a stack, all sizes different': [
    3,
    () => {
      const stack = new MultiRNNCell([new LSTMCell(3, { dtype }), new GRUBlockCell(5, { dtype })])
      return new AttentionCellWrapper(stack, 2, { attnSize: 3, attnVecSize: 2, inputSize: 4 })
    },
  ],
  'MultiRNNCell of wrappers': [
    3,
    () =>
      new MultiRNNCell([
        new HighwayWrapper(new UGRNNCell(3, { dtype })),
        new ResidualWrapper(new DropoutWrapper(new LSTMCell(3, { dtype }), { outputKeepProb: 0.5 })),
      ]),
  ],
}

/** A cell whose times are in one period: TensorFlow's gradient of the period is the true one only there. */
function phased(options: object) {
  const cell = new PhasedLSTMCell(3, { dtype, ratioOn: 0.35, leak: 0.01, ...options })
  cell.build(3, { seed: 7 })
  const phase = float64([-1.1, -2.1, -4.2], [3])
  cell.setVariables({ period: float64([10, 9, 8], [3]), phase })
  return cell
}

const sequence = (inputSize: number) => float64(fill(T * B * inputSize, FILLS.x), [T, B, inputSize])

describe('gradients agree with central differences in float64', () => {
  test.each(
    Object.entries(CELLS).flatMap(([name, [inputSize, make]]) =>
      [undefined, LENGTHS].map((lengths) => [name, lengths, inputSize, make] as const),
    ),
  )('dynamicRnn of %s, lengths %s', (name, sequenceLength, inputSize, make) => {
    const cell = anyState(make())
    cell.build(inputSize, { seed: 7 })
    const x = sequence(inputSize)
    const initialState = filledLike(cell.zeroState(B), FILLS.h)
    const dState = filledLike(cell.zeroState(B), FILLS.gradH)
    const dOutputs = float64(fill(T * B * cell.outputSize, FILLS.gradOutput), [T, B, cell.outputSize])
    const masks = cell.randomState()
    const run = () => {
      cell.restoreRandomState(masks)
      return dynamicRnn(cell, x, { initialState, sequenceLength, timeMajor: true })
    }
    const loss = () => {
      const { outputs, state } = run()
      return dot(outputs, dOutputs) + dotState(state, dState)
    }
    const gradients = run().tape.gradients({ outputs: dOutputs, state: dState })
    expectGradient(x, gradients.inputs, loss, 'inputs')
    for (const [k, leaf] of leaves(initialState).entries()) {
      expectGradient(leaf, leaves(gradients.state)[k], loss, `state ${k}`)
    }
    for (const [variable, value] of cell.variables) {
      const gradient = gradients.variables.get(variable)!
      if (name.includes('fixed ratio') && variable === 'ratio_on') expectClose(gradient.data, [0, 0, 0], 0, variable)
      else expectGradient(value, gradient, loss, variable)
    }
  })

  test('PhasedLSTMCell after several periods: mod passes the gradient to the time and the phase alone', () => {
    const cell = new PhasedLSTMCell(1, { dtype, leak: 0.5, ratioOn: 0.1 })
    cell.build(2, { seed: 1 })
    cell.setVariables({ period: float64([2], [1]), phase: float64([0.25], [1]) })
    const x = float64([5.5, 1], [1, 2])
    const state = { c: float64([0.3], [1, 1]), h: float64([-0.2], [1, 1]) }
    const h = () => cell.call(x, state, { training: false }).output.data[0]
    const { input, variables } = cell.call(x, state).tape.gradients({ output: float64([1], [1, 1]) })
    const slope = input.data[0]
    expectGradient(cell.variables.get('phase')!, variables.get('phase')!, h, 'phase')
    expect(variables.get('phase')!.data[0]).toBeCloseTo(-slope, 12)
    // (t - s) mod τ = 1.25, so that ∂φ/∂τ = -1.25/τ² where ∂φ/∂t = 1/τ.
    expect(variables.get('period')!.data[0]).toBeCloseTo((slope * -1.25) / 2, 12)
  })
})

describe('cells have equal results from every function', () => {
  test.each(Object.entries(CELLS))('%s in staticRnn, dynamicRnn and call', (_, [inputSize, make]) => {
    const cell = anyState(make())
    cell.build(inputSize, { seed: 5 })
    const x = sequence(inputSize)
    const masks = cell.randomState()
    const dynamic = dynamicRnn(cell, x, { timeMajor: true })
    cell.restoreRandomState(masks)
    const list = staticRnn(cell, unstackSteps(x))
    cell.restoreRandomState(masks)
    let state: CellState = cell.zeroState(B)
    const steps: FloatTensor[] = []
    const inference: FloatTensor[] = []
    for (const input of unstackSteps(x)) {
      const before = state
      const step = cell.call(input, before)
      inference.push(cell.call(input, before, { training: false }).output)
      state = step.state
      steps.push(step.output)
    }
    const flat = (outputs: readonly FloatTensor[]) => outputs.flatMap(({ data }) => [...data])
    expectClose(flat(list.outputs), dynamic.outputs.data, 1e-15, 'staticRnn')
    const isVariational = cell instanceof DropoutWrapper && cell.variationalRecurrent
    if (!isVariational) expectClose(flat(steps), dynamic.outputs.data, 1e-15, 'call')
    if (masks.length === 0) expectClose(flat(inference), flat(steps), 0, 'inference')
    else expect(flat(inference)).not.toEqual(flat(steps))
  })

  test('AttentionCellWrapper of zeros is zero', () => {
    const cell = new AttentionCellWrapper(new LSTMCell(3, { dtype }), 2)
    cell.build(3)
    const { output, state } = cell.call(float64(Array(6).fill(0), [2, 3]), cell.zeroState(2))
    for (const { data } of [output, ...leaves(state)]) expect(data.every((value) => value === 0)).toBe(true)
  })

  test('DropoutWrapper with all probabilities 1 is its cell; variational masks are one for all steps and rows', () => {
    const inner = new GRUBlockCell(4, { dtype })
    inner.build(3, { seed: 2 })
    const x = sequence(3)
    const plain = dynamicRnn(inner, x, { timeMajor: true })
    expectClose(dynamicRnn(new DropoutWrapper(inner), x, { timeMajor: true }).outputs.data, plain.outputs.data, 0, 'h')
    const cell = new DropoutWrapper(inner, { outputKeepProb: 0.5, variationalRecurrent: true, seed: 1 })
    const zerosOf = (outputs: FloatTensor) =>
      Array.from({ length: T * B }, (_, row) => [...outputs.data.slice(4 * row, 4 * row + 4)].map((h) => h === 0))
    const first = zerosOf(dynamicRnn(cell, x, { timeMajor: true }).outputs)
    for (const row of first) expect(row).toEqual(first[0])
    const later = Array.from({ length: 8 }, () => zerosOf(dynamicRnn(cell, x, { timeMajor: true }).outputs)[0])
    expect(new Set(later.map(String)).size).toBeGreaterThan(1)
  })
})

describe("variables have TensorFlow's names", () => {
  test.each<[string, RNNCell<never>, number, readonly string[]]>([
    [
      'nas_cell',
      named(new NASCell(2, { useBias: true, numProj: 1 })),
      3,
      ['recurrent_kernel [1,16]', 'kernel [3,16]', 'bias [16]', 'projection_weights [2,1]'],
    ],
    ['ugrnn_cell', named(new UGRNNCell(2)), 3, ['kernel [5,4]', 'bias [4]']],
    [
      'phased_lstm_cell',
      named(new PhasedLSTMCell(2, { usePeepholes: true })),
      4,
      [
        'mask_gates/kernel [7,4]',
        'mask_gates/bias [4]',
        'new_input/kernel [5,2]',
        'new_input/bias [2]',
        'output_gate/kernel [7,2]',
        'output_gate/bias [2]',
        'period [2]',
        'phase [2]',
        'ratio_on [2]',
      ],
    ],
    [
      'glstm_cell',
      named(new GLSTMCell(4, { numberOfGroups: 2, numProj: 2 })),
      6,
      [
        'group0/kernel [4,8]',
        'group1/kernel [4,8]',
        'bias_i [4]',
        'bias_j [4]',
        'bias_f [4]',
        'bias_o [4]',
        'projection/kernel [4,2]',
      ],
    ],
    [
      'conv_2d_lstm_cell',
      named(new Conv2DLSTMCell({ inputShape: [2, 3, 1], outputChannels: 2, kernelShape: [3, 5] })),
      6,
      ['kernel [3,5,3,8]', 'biases [8]'],
    ],
    [
      'layer_norm_basic_lstm_cell',
      named(new LayerNormBasicLSTMCell(1)),
      2,
      [
        'kernel [3,4]',
        ...['input', 'transform', 'forget', 'output', 'state'].flatMap((gate) => [
          `${gate}/gamma [1]`,
          `${gate}/beta [1]`,
        ]),
      ],
    ],
    [
      'attention_cell_wrapper',
      named(new AttentionCellWrapper(new LSTMCell(2), 3, { attnVecSize: 5 })),
      3,
      [
        'kernel [5,3]',
        'bias [3]',
        'attention/attn_w [1,1,2,5]',
        'attention/attn_v [5]',
        'attention/kernel [4,5]',
        'attention/bias [5]',
        'attn_output_projection/kernel [4,2]',
        'attn_output_projection/bias [2]',
        'lstm_cell/kernel [5,8]',
        'lstm_cell/bias [8]',
      ],
    ],
    [
      '',
      named(new HighwayWrapper(new UGRNNCell(2), { coupleCarryTransformGates: false })),
      2,
      [
        'ugrnn_cell/kernel [4,4]',
        'ugrnn_cell/bias [4]',
        'carry_w [2,2]',
        'carry_b [2]',
        'transform_w [2,2]',
        'transform_b [2]',
      ],
    ],
    ['ugrnn_cell', named(new ResidualWrapper(new DropoutWrapper(new UGRNNCell(2)))), 2, ['kernel [4,4]', 'bias [4]']],
    [
      'multi_rnn_cell',
      named(new MultiRNNCell([new HighwayWrapper(new UGRNNCell(2)), new DropoutWrapper(new NASCell(1))])),
      2,
      [
        'cell_0/ugrnn_cell/kernel [4,4]',
        'cell_0/ugrnn_cell/bias [4]',
        'cell_0/carry_w [2,2]',
        'cell_0/carry_b [2]',
        'cell_1/nas_cell/recurrent_kernel [1,8]',
        'cell_1/nas_cell/kernel [2,8]',
      ],
    ],
  ])('in scope "%s"', (scope, cell, inputSize, expected) => {
    cell.build(inputSize)
    expect(cell.scope).toBe(scope)
    expect([...cell.variables].map(([name, { shape }]) => `${name} [${shape.join(',')}]`)).toEqual(expected)
    // A fresh cell finds its sizes in the variables alone.
    expect(cell.variableSpecs(inputSize).map(({ name }) => name)).toEqual([...cell.variables.keys()])
  })

  test('defaults of the initial values', () => {
    const phasedCell = new PhasedLSTMCell(200, { dtype, periodInitMin: 2, periodInitMax: 50 })
    phasedCell.build(2)
    const [period, phase, ratio] = ['period', 'phase', 'ratio_on'].map((name) => [
      ...phasedCell.variables.get(name)!.data,
    ])
    expect(Math.min(...period)).toBeGreaterThanOrEqual(2)
    expect(Math.max(...period)).toBeLessThanOrEqual(50)
    // Uniform in the logarithm: as many below the geometric mean as above.
    expect(period.filter((value) => value < 10).length / 200).toBeCloseTo(0.5, 0)
    for (const [k, value] of phase.entries()) expect(value >= 0 && value < period[k]).toBe(true)
    expect(new Set(ratio)).toEqual(new Set([0.1]))
    const norm = new LayerNormBasicLSTMCell(2, { dtype, normGain: 0.5, normShift: 0.25 })
    norm.build(2)
    expect([...norm.variables.get('state/gamma')!.data, ...norm.variables.get('state/beta')!.data]).toEqual([
      0.5, 0.5, 0.25, 0.25,
    ])
    const highway = new HighwayWrapper(new UGRNNCell(2, { dtype }), {
      coupleCarryTransformGates: false,
      carryBiasInit: 2,
    })
    highway.build(2)
    expect([...highway.variables.get('carry_b')!.data, ...highway.variables.get('transform_b')!.data]).toEqual([
      2, 2, -2, -2,
    ])
    const conv = new Conv1DLSTMCell({ dtype, inputShape: [4, 2], outputChannels: 2, kernelShape: [3] })
    conv.build(8)
    const limit = Math.sqrt(6 / (3 * (4 + 8)))
    const largest = Math.max(...conv.variables.get('kernel')!.data.map(Math.abs))
    expect(largest).toBeLessThanOrEqual(limit)
    expect(largest).toBeGreaterThan(0.9 * limit)
  })
})

function named(cell: unknown): RNNCell<never> {
  return cell as RNNCell<never>
}

describe('backend', () => {
  test('computes the products of call, dynamicRnn and staticRnn', () => {
    using backend = openReferenceBackend({ dtype })
    let products = 0
    const counting = {
      name: 'counting',
      dtype: backend.dtype,
      products: {
        addProduct(...operands: Parameters<typeof backend.products.addProduct>) {
          products++
          backend.products.addProduct(...operands)
        },
      },
    }
    const cell = new MultiRNNCell([new UGRNNCell(4, { dtype }), new LSTMCell(3, { dtype, numProj: 2 })])
    cell.build(3, { seed: 1 })
    const x = sequence(3)
    const plain = dynamicRnn(cell, x, { timeMajor: true })
    const run = dynamicRnn(cell, x, { timeMajor: true, backend: counting })
    expect(run.outputs).toEqual(plain.outputs)
    const forward = products
    expect(forward).toBeGreaterThan(0)
    expect(run.tape.gradients({ outputs: run.outputs })).toEqual(plain.tape.gradients({ outputs: plain.outputs }))
    expect(products).toBeGreaterThan(forward)
    const steps = unstackSteps(x)
    expect(staticRnn(cell, steps, { backend }).outputs).toEqual(unstackSteps(plain.outputs))
    expect(cell.call(steps[0], cell.zeroState(B), { backend }).output).toEqual(unstackSteps(plain.outputs)[0])
    using other = openReferenceBackend({ dtype: 'float32' })
    const refused = coded('ERR_DTYPE')
    expect(() => dynamicRnn(cell, x, { backend: other })).toThrow(refused)
    expect(() => dynamicRnn(cell, x, { backend: 1 as never })).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })
})

describe('refusals', () => {
  const conv = { inputShape: [4, 2], outputChannels: 2, kernelShape: [3] }
  test.each<[string, string, () => unknown]>([
    ['an unknown option', 'ERR_UNKNOWN_OPTION', () => new NASCell(2, { use_bias: true } as object)],
    ['no units', 'ERR_INVALID_OPTION', () => new UGRNNCell(0)],
    ['an initializer of another name', 'ERR_INVALID_OPTION', () => new UGRNNCell(2, { initializer: 'zeros' as never })],
    ['units that no groups divide', 'ERR_INVALID_OPTION', () => new GLSTMCell(5, { numberOfGroups: 2 })],
    [
      'a projection that no groups divide',
      'ERR_INVALID_OPTION',
      () => new GLSTMCell(4, { numberOfGroups: 2, numProj: 3 }),
    ],
    ['inputs that no groups divide', 'ERR_INVALID_OPTION', () => new GLSTMCell(4, { numberOfGroups: 2 }).build(3)],
    ['a time without features', 'ERR_INVALID_OPTION', () => new PhasedLSTMCell(2).build(1)],
    [
      'a shortest period above the longest',
      'ERR_INVALID_OPTION',
      () => new PhasedLSTMCell(2, { periodInitMin: 5, periodInitMax: 2 }),
    ],
    ['a period of 0', 'ERR_INVALID_OPTION', () => new PhasedLSTMCell(2, { periodInitMin: 0 })],
    ['a gate that is open for two periods', 'ERR_INVALID_OPTION', () => new PhasedLSTMCell(2, { ratioOn: 2 })],
    ['a gate that is never open', 'ERR_INVALID_OPTION', () => new PhasedLSTMCell(2, { ratioOn: 0 })],
    ['a ratio that is not a number', 'ERR_INVALID_OPTION', () => new PhasedLSTMCell(2, { ratioOn: Number.NaN })],
    ['a kernel of other dimensions', 'ERR_INVALID_OPTION', () => new Conv2DLSTMCell(conv)],
    ['no options of a convolution', 'ERR_INVALID_OPTION_TYPE', () => new Conv1DLSTMCell(undefined as never)],
    [
      'an input shape without a list',
      'ERR_INVALID_OPTION_TYPE',
      () => new Conv1DLSTMCell({ ...conv, inputShape: 4 as never }),
    ],
    ['an input of another size than its shape', 'ERR_INVALID_OPTION', () => new Conv1DLSTMCell(conv).build(7)],
    ['a keep probability of 0', 'ERR_INVALID_OPTION', () => new LayerNormBasicLSTMCell(2, { dropoutKeepProb: 0 })],
    [
      'a keep probability above 1',
      'ERR_INVALID_OPTION',
      () => new DropoutWrapper(new UGRNNCell(2), { inputKeepProb: 1.5 }),
    ],
    ['a wrapper of no cell', 'ERR_INVALID_ARGUMENT', () => new DropoutWrapper({} as never)],
    ['a residual of other columns', 'ERR_INVALID_OPTION', () => new ResidualWrapper(new UGRNNCell(2)).build(3)],
    ['a highway of other columns', 'ERR_INVALID_OPTION', () => new HighwayWrapper(new UGRNNCell(2)).build(3)],
    ['residual_fn', 'ERR_UNKNOWN_OPTION', () => new ResidualWrapper(new UGRNNCell(2), { residualFn: 1 } as never)],
    ['an attention length of 0', 'ERR_INVALID_OPTION', () => new AttentionCellWrapper(new UGRNNCell(2), 0)],
    ['masks of another cell', 'ERR_INVALID_OPTION', () => new UGRNNCell(2).restoreRandomState([1])],
    [
      'a kernel of impossible rows',
      'ERR_SHAPE',
      () => new UGRNNCell(2).setVariables({ kernel: float64(Array(8).fill(0), [2, 4]) }),
    ],
  ])('%s', (_, code, act) => {
    expect(act).toThrowError(coded(code))
  })
})
