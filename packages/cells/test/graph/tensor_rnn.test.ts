import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import {
  addProduct,
  type GradientTape,
  grad,
  handleOf,
  infer,
  Recording,
  type TapeVariable,
  type Value,
  valueAndGrad,
} from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { failingAt } from '../../../../scripts/testing/failing_backend.mjs'
import { CellRun } from '../../src/cell/cell_run.js'
import { GraphCell } from '../../src/graph/graph_cell.js'
import {
  type CellStep,
  dynamicRnn,
  type FloatTensor,
  LSTMBlockCell,
  LSTMCell,
  PhasedLSTMCell,
  ResidualWrapper,
  RNNCell,
  tensorRnn,
  UGRNNCell,
} from '../../src/index.js'
import type { CellVariables } from '../../src/cell/cell_variables.js'
import { expectClose } from '../cell_checks.js'

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

/** The variables of a cell on an executor. */
function variablesOf(cell: CellVariables, backend: Backend): Record<string, TapeVariable> {
  const entries = [...cell.variables].map(([name, value]) => [
    name,
    { name, value: backend.tensor(value), backend },
  ]) as [string, TapeVariable][]
  return Object.fromEntries(entries)
}

/** Σ w∘y */
function weighted(t: GradientTape, y: Value, w: FloatTensor): Value {
  return t.sum(t.multiply(y, w))
}

describe('tensorRnn', () => {
  test('has the outputs, states and gradients of dynamicRnn', async () => {
    using backend = openReferenceBackend({ dtype })
    const cell = new ResidualWrapper(new UGRNNCell(3, { dtype }))
    cell.build(3, { seed: 1 })
    const [inputs, initial, dOutputs, dState] = [waves(4, 2, 3), waves(2, 3), waves(4, 2, 3), waves(2, 3)]
    const lengths = [4, 1]
    const expected = dynamicRnn(cell, inputs, { timeMajor: true, sequenceLength: lengths, initialState: initial })
    const expectedGradients = expected.tape.gradients({ outputs: dOutputs, state: dState })
    const x = { name: 'x', value: backend.tensor(inputs), backend }
    const state = { name: 'state', value: backend.tensor(initial), backend }
    const params = { x, state, cell: variablesOf(cell, backend) }
    const run = (t: GradientTape, p: typeof params) =>
      tensorRnn(t, cell, new Map(Object.entries(p.cell)), p.x, { state: p.state, lengths })
    const { gradients } = await valueAndGrad((t, p: typeof params) => {
      const { output, state: last } = run(t, p)
      return t.add(weighted(t, output, dOutputs), weighted(t, last as Value, dState))
    })(params)
    const { output, state: last } = await infer((t, p: typeof params) => run(t, p) as { output: Value; state: Value })(
      params,
    )
    const pairs: (readonly [BackendTensor, FloatTensor])[] = [
      [output, expected.outputs],
      [last, expected.state],
      [gradients.x, expectedGradients.inputs],
      [gradients.state, expectedGradients.state],
      ...[...expectedGradients.variables].map(
        ([name, tensor]) => [(gradients.cell as Record<string, BackendTensor>)[name], tensor] as const,
      ),
    ]
    for (const [actual, { data }] of pairs) expectClose((await actual.read()).data, data, 1e-12, 'tensorRnn')
  })

  test('reads no input past the lengths', async () => {
    using backend = openReferenceBackend({ dtype })
    const inputs = waves(3, 2, 3)
    inputs.data.fill(Number.NaN, 9, 12)
    const cell = built()
    const gradients = await grad((t, p: Record<string, TapeVariable>) =>
      t.sum(tensorRnn(t, cell, new Map(Object.entries(p)), inputs, { lengths: [3, 1] }).output),
    )(variablesOf(cell, backend))
    for (const tensor of Object.values(gradients as Record<string, BackendTensor>)) {
      expect((await tensor.read()).data.every(Number.isFinite)).toBe(true)
    }
  })

  test.each([null, [2, 1]])('leaves no tensor where the executor fails, lengths %s', async (lengths) => {
    using backend = openReferenceBackend({ dtype })
    const cell = built()
    const variables = variablesOf(cell, backend)
    const held = backend.stats().tensors
    const step = async (failing: Backend) => {
      using recording = new Recording(failing, Object.values(variables))
      const { output } = tensorRnn(handleOf(recording), cell, new Map(Object.entries(variables)), waves(2, 2, 3), {
        state: waves(2, 3),
        lengths,
      })
      using dy = backend.tensor(waves(2, 2, 3))
      await recording.differentiate(output, dy)
    }
    let calls = 0
    await step(failingAt(backend, -1, () => void calls++))
    expect(calls).toBeGreaterThan(20)
    for (let call = 0; call < calls; call++) {
      await expect(step(failingAt(backend, call)), `call ${call}`).rejects.toThrow('out of memory')
      expect(backend.stats().tensors, `after call ${call}`).toBe(held)
    }
  })

  type Given = Parameters<typeof tensorRnn>
  test.each<[string, string, (given: Given) => unknown[]]>([
    ['a cell without equations', 'ERR_INVALID_OPTION', ([t, , ...rest]) => [t, new Constant('sum', dtype), ...rest]],
    [
      'a phased gate on an executor without the operation',
      'ERR_INVALID_OPTION',
      ([t, , , x]) => {
        const cell = new PhasedLSTMCell(3, { dtype })
        cell.build(3)
        return [t, cell, cell.variables, x]
      },
    ],
    ['no tape', 'ERR_INVALID_ARGUMENT', ([, ...rest]) => [{}, ...rest]],
    ['another dtype', 'ERR_DTYPE', ([t, , ...rest]) => [t, built('float32'), ...rest]],
    ['other columns', 'ERR_SHAPE', ([t, cell, variables]) => [t, cell, variables, waves(4, 2, 5)]],
    ['no steps', 'ERR_SHAPE', ([t, cell, variables]) => [t, cell, variables, waves(0, 2, 3)]],
    ['a missing variable', 'ERR_NOT_A_TENSOR', ([t, cell, , x]) => [t, cell, new Map(), x]],
    ['a state of other rows', 'ERR_SHAPE', (given) => [...given, { state: waves(3, 3) }]],
    ['a state of no tensor', 'ERR_NOT_A_TENSOR', (given) => [...given, { state: 'state' }]],
    ['a list of states', 'ERR_STATE_STRUCTURE', (given) => [...given, { state: [waves(2, 3)] }]],
    ['a length past the end', 'ERR_SEQUENCE_LENGTHS', (given) => [...given, { lengths: [5, 1] }]],
    ['an unknown option', 'ERR_UNKNOWN_OPTION', (given) => [...given, { length: [5, 1] }]],
  ])('refuses %s, and leaves no tensor', async (_, code, change) => {
    using backend = openReferenceBackend({ dtype })
    using recording = new Recording(backend, [])
    const cell = built()
    const given = change([handleOf(recording), cell as never, cell.variables, waves(4, 2, 3)])
    expect(() => tensorRnn(...(given as Given))).toThrow(coded(code))
    recording.dispose()
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
