import type { Backend, BackendTensor } from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import { addProduct } from '@cudnn-rnn/executor-kit'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { callsOf, failingAt } from '../../../scripts/failing_backend.mjs'
import { CellRun } from '../src/cell_run.js'
import { GraphCell } from '../src/graph_cell.js'
import {
  type CellStep,
  dynamicRnn,
  type FloatTensor,
  LSTMBlockCell,
  LSTMCell,
  PhasedLSTMCell,
  ResidualWrapper,
  RNNCell,
  type TensorRnnArguments,
  tensorRnn,
  UGRNNCell,
} from '../src/index.js'

const dtype = 'float64'
const waves = (...shape: number[]) => ({
  data: Float64Array.from({ length: elementCount(shape) }, (_, k) => Math.sin(0.9 * k)),
  shape,
})

test.each<[string, () => LSTMCell | LSTMBlockCell]>([
  ['plain', () => new LSTMCell(3, { dtype })],
  [
    'peepholes, clips and a projection',
    () => new LSTMCell(3, { dtype, usePeepholes: true, cellClip: 0.2, numProj: 2, projClip: 0.1 }),
  ],
  [
    'clips of a block operation',
    () => new LSTMBlockCell(3, { dtype, usePeephole: true, cellClip: 0.2, preactivationClip: 0.4 }),
  ],
])('the equations of an LSTM cell are those of its pass in host memory: %s', (_, make) => {
  const cell = make()
  cell.build(2, { seed: 1 })
  const results = [cell.step.bind(cell), GraphCell.prototype.step.bind(cell as never)].map((step) => {
    const run = new CellRun(dtype, true, { products: { addProduct }, lstm: undefined })
    const state = { c: waves(4, cell.stateSize.c), h: waves(4, cell.stateSize.h) }
    const { output, state: next, backward } = step(waves(4, 2), state, run) as CellStep<typeof state>
    const gradients = cell.zeroGradients()
    const below = backward(output, { c: waves(...next.c.shape), h: waves(...next.h.shape) }, gradients)
    run.finishGradients()
    return [output, next.c, next.h, below.input, below.state.c, below.state.h, ...gradients.values()]
  })
  for (const [n, { data }] of results[0].entries()) {
    for (const [k, value] of data.entries()) expect(results[1][n].data[k]).toBeCloseTo(value, 12)
  }
})

describe('tensorRnn', () => {
  test('has the outputs, states and gradients of dynamicRnn', async () => {
    using backend = openReferenceBackend({ dtype })
    const cell = new ResidualWrapper(new UGRNNCell(3, { dtype }))
    cell.build(3, { seed: 1 })
    const [inputs, initial, dOutputs] = [waves(4, 2, 3), waves(2, 3), waves(4, 2, 3)]
    const sequenceLength = [4, 1]
    const given = { backend, variables: cell.variables, inputs, sequenceLength: Int32Array.from(sequenceLength) }
    const result = tensorRnn(cell, { ...given, initialState: [initial], training: true, keepsState: true })
    using dy = backend.tensor(dOutputs)
    const gradients = result.backward(dy)
    const expected = dynamicRnn(cell, inputs, { timeMajor: true, sequenceLength, initialState: initial })
    const expectedGradients = expected.tape.gradients({ outputs: dOutputs })
    const pairs = [
      [result.outputs, expected.outputs],
      [result.state[0], expected.state],
      [gradients.inputs, expectedGradients.inputs],
      ...gradients.variables.map((tensor, n) => [tensor, [...expectedGradients.variables.values()][n]] as const),
    ] as const
    for (const [actual, { data }] of pairs) {
      const found = (await actual.read()).data
      for (const [k, value] of data.entries()) expect(found[k]).toBeCloseTo(value, 12)
    }
    for (const [tensor] of pairs) tensor.dispose()
    result.dispose()
    dy.dispose()
    expect(backend.stats().tensors).toBe(0)
  })

  test.each([null, Int32Array.of(2, 1)])('leaves no tensor where the executor fails, lengths %s', (sequenceLength) => {
    using backend = openReferenceBackend({ dtype })
    const { variables } = built()
    const given = { variables, inputs: waves(2, 2, 3), initialState: [waves(2, 3)], sequenceLength }
    const step = (failing: Backend) => {
      const result = tensorRnn(built(), { ...given, backend: failing, training: true, keepsState: true })
      try {
        const gradients = result.backward(waves(2, 2, 3) as unknown as BackendTensor)
        for (const tensor of [gradients.inputs, ...gradients.variables]) tensor.dispose()
      } finally {
        for (const tensor of [result.outputs, ...result.state]) tensor.dispose()
        result.dispose()
      }
    }
    const calls = callsOf(backend, step)
    expect(backend.stats().tensors).toBe(0)
    for (let call = 0; call < calls; call++) {
      expect(() => step(failingAt(backend, call)), `call ${call}`).toThrow('out of memory')
      expect(backend.stats().tensors, `after call ${call}`).toBe(0)
    }
  })

  test.each<[string, string, (given: TensorRnnArguments) => unknown]>([
    ['a cell without equations', 'ERR_INVALID_OPTION', (given) => tensorRnn(new Constant('sum', dtype), given)],
    [
      'a phased gate on an executor without the operation',
      'ERR_INVALID_OPTION',
      (given) => {
        const cell = new PhasedLSTMCell(3, { dtype })
        cell.build(3)
        return tensorRnn(cell, { ...given, variables: cell.variables })
      },
    ],
    ['no arguments', 'ERR_INVALID_ARGUMENT', () => tensorRnn(built(), undefined as never)],
    ['another dtype', 'ERR_DTYPE', (given) => tensorRnn(built('float32'), given)],
    ['other columns', 'ERR_SHAPE', (given) => tensorRnn(built(), { ...given, inputs: waves(4, 2, 5) })],
    ['no steps', 'ERR_EMPTY_SEQUENCE', (given) => tensorRnn(built(), { ...given, inputs: waves(0, 2, 3) })],
    ['a missing variable', 'ERR_NOT_A_TENSOR', (given) => tensorRnn(built(), { ...given, variables: new Map() })],
    ['a state of other rows', 'ERR_SHAPE', (given) => tensorRnn(built(), { ...given, initialState: [waves(3, 3)] })],
    ['a state of no tensors', 'ERR_NOT_A_TENSOR', (given) => tensorRnn(built(), { ...given, initialState: [] })],
    [
      'a length past the end',
      'ERR_SEQUENCE_LENGTHS',
      (given) => tensorRnn(built(), { ...given, sequenceLength: Int32Array.of(5, 1) }),
    ],
  ])('refuses %s, and leaves no tensor', (_, code, run) => {
    using backend = openReferenceBackend({ dtype })
    const { variables } = built()
    const given = { backend, variables, inputs: waves(4, 2, 3), initialState: null, sequenceLength: null }
    expect(() => run({ ...given, training: false, keepsState: false })).toThrow(coded(code))
    expect(backend.stats().tensors).toBe(0)
  })
})

/** A cell that a user wrote: h' = h. */
class Constant extends RNNCell<FloatTensor> {
  readonly stateSize = 3
  readonly outputSize = 3

  override variableSpecs() {
    return []
  }

  override step(input: FloatTensor, state: FloatTensor) {
    return { output: state, state, backward: (_: FloatTensor, dState: FloatTensor) => ({ input, state: dState }) }
  }
}

function built(kind: 'float32' | 'float64' = dtype): UGRNNCell {
  const cell = new UGRNNCell(3, { dtype: kind })
  cell.build(3, { seed: 1 })
  return cell
}
