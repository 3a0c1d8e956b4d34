import { describe, expect, test } from 'vitest'
import {
  AttentionCellWrapper,
  Conv1DLSTMCell,
  Conv2DLSTMCell,
  DropoutWrapper,
  GLSTMCell,
  HighwayWrapper,
  LayerNormBasicLSTMCell,
  LSTMCell,
  MultiRNNCell,
  NASCell,
  PhasedLSTMCell,
  ResidualWrapper,
  type RNNCell,
  UGRNNCell,
} from '../../src/index.js'

const dtype = 'float64'

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
