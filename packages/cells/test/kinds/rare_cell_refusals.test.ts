import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  AttentionCellWrapper,
  Conv1DLSTMCell,
  Conv2DLSTMCell,
  DropoutWrapper,
  dynamicRnn,
  GLSTMCell,
  HighwayWrapper,
  LayerNormBasicLSTMCell,
  LSTMCell,
  MultiRNNCell,
  NASCell,
  PhasedLSTMCell,
  ResidualWrapper,
  staticRnn,
  UGRNNCell,
} from '../../src/index.js'
import { unstackSteps } from '../../src/sequence/sequence_layout.js'
import { float64 } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'

const dtype = 'float64'
const T = 3
const B = 2

const sequence = (inputSize: number) => float64(fill(T * B * inputSize, FILLS.x), [T, B, inputSize])

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
