import { OPTIMIZER_RULES, type OptimizerRule } from '@cudnn-rnn/ops'
import { CHECKED_ROWS } from '@cudnn-rnn/ops/executor'
import fc from 'fast-check'
import { ANY, type Argument, FAULTS, type Program, type State, type Statement, type StatementOf } from './program.js'

const RULES = Object.keys(OPTIMIZER_RULES) as OptimizerRule[]

/** Mostly the newest few that fit, now and then any that ever was. */
export const index = fc.oneof(
  { weight: 12, arbitrary: fc.nat(3) },
  { weight: 4, arbitrary: fc.nat(ANY - 1) },
  { weight: 1, arbitrary: fc.integer({ min: ANY, max: ANY + 20 }) },
)
export const rarely = <Value>(value: fc.Arbitrary<Value>, oneIn: number) =>
  fc.option(value, { nil: undefined, freq: oneIn })
export const size = fc.oneof(
  { weight: 11, arbitrary: fc.integer({ min: 1, max: 9 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 40 }) },
)
const argument: fc.Arbitrary<Argument> = fc.record({
  form: fc.constantFrom('host', 'own'),
  fill: fc.nat(15),
  fault: sometimes(fc.constantFrom(...FAULTS), 30),
})
const state: fc.Arbitrary<State> = fc.oneof(fc.constantFrom<State>('zeros', 'carried'), argument)
/** Mostly few, now and then enough that kernels go other ways. */
const rows = (few: number, many: number) =>
  fc.oneof(
    { weight: 11, arbitrary: fc.integer({ min: 1, max: few }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: many }) },
  )
export const pass = {
  time: rows(6, 40),
  batch: rows(5, 40),
  lengths: fc.option(fc.array(fc.nat(40), { minLength: 1, maxLength: 5 }), { nil: undefined }),
}
export const rate = fc.constantFrom(0.1, 0.01, 0.5)

/** A value once in `oneIn`, undefined otherwise. */
function sometimes<Value>(value: fc.Arbitrary<Value>, oneIn: number): fc.Arbitrary<Value | undefined> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
}

export const model: fc.Arbitrary<StatementOf<'model'>> = fc
  .record({
    op: fc.constant('model' as const),
    cell: fc.constantFrom('lstm', 'gru', 'rnn_relu', 'rnn_tanh'),
    numLayers: fc.integer({ min: 1, max: 3 }),
    numUnits: size,
    inputSize: size,
    inputMode: fc.constantFrom('linear_input', 'auto_select', 'skip_input'),
    direction: fc.constantFrom('unidirectional', 'bidirectional'),
    seed: fc.nat(3),
    numProj: sometimes(size, 4),
    // Not 1: saturated cells settle a rounding error beside it, where the gradient jumps.
    cellClip: sometimes(fc.constantFrom(0.3, 0.7, -0.7), 5),
    isSound: fc.nat(15),
  } as const)
  .map(({ isSound, numProj, cellClip, ...drawn }) => {
    const isLstm = drawn.cell === 'lstm'
    if (isSound === 0) return { ...drawn, numProj, cellClip }
    return {
      ...drawn,
      inputSize: drawn.inputMode === 'skip_input' ? drawn.numUnits : drawn.inputSize,
      ...(isLstm && numProj !== undefined && { numProj: 1 + (numProj % drawn.numUnits) }),
      ...(isLstm && cellClip !== undefined && { cellClip: Math.abs(cellClip) }),
    }
  })

const params: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('params' as const),
  model: index,
  seed: fc.nat(5),
  kernel: fc.constantFrom('glorot_uniform' as const, 'orthogonal' as const, 0),
  bias: fc.constantFrom(0, 0.1),
  forgetBias: sometimes(fc.constant(1), 8),
})

const call: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('call' as const),
  model: index,
  params: index,
  ...pass,
  input: argument,
  h: state,
  c: state,
  training: fc.boolean(),
  fault: sometimes(fc.constantFrom('lengthTooLong', 'lengthMissing', 'lengthNaN', 'unknownOption', 'otherModel'), 25),
  times: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 2, max: 5 }) }),
})

const gradients: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('gradients' as const),
  tape: index,
  output: rarely(argument, 6),
  h: rarely(argument, 2),
  c: rarely(argument, 2),
  elsewhere: sometimes(fc.constant(true), 20).map((elsewhere) => elsewhere ?? false),
})

const dispose: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('dispose' as const),
  kind: fc.constantFrom('model', 'opaque', 'tensor', 'tensor', 'tape', 'stream', 'optimizer'),
  index,
})

export const rule = fc.constantFrom(...(['assign', 'accumulate', ...RULES, 'clip'] as const))

const update: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('update' as const),
  kind: fc.constantFrom('opaque', 'opaque', 'tensor'),
  rule,
  target: index,
  source: fc.oneof(index, index, argument),
  rate,
})

const optimizer: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('optimizer' as const),
  rule: fc.constantFrom('sgd', 'momentum', 'adam', 'rmsProp', 'adagrad'),
  tensorflow: fc.boolean(),
  params: fc.array(index, { minLength: 1, maxLength: 2 }),
  weightDecay: fc.constantFrom(0, 0.1),
})

const apply: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('apply' as const),
  optimizer: index,
  gradients: fc.array(index, { minLength: 1, maxLength: 2 }),
  rate: fc.oneof({ weight: 20, arbitrary: rate }, { weight: 1, arbitrary: fc.constant(-1) }),
  foreign: sometimes(fc.constant(true), 15).map((foreign) => foreign ?? false),
})

const train: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('train' as const),
  optimizer: index,
  ...pass,
  batches: fc.integer({ min: 1, max: 2 }),
  times: fc.integer({ min: 1, max: 4 }),
  maxNorm: fc.constantFrom(undefined, 0.5),
})

export const stream: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('stream' as const),
  model: index,
  params: index,
  batch: fc.oneof({ weight: 15, arbitrary: fc.integer({ min: 1, max: 4 }) }, { weight: 1, arbitrary: fc.constant(0) }),
})
const step: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('step' as const),
  stream: index,
  time: fc.nat(3),
  input: argument,
})
const reset: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('reset' as const),
  stream: index,
  rows: fc.option(
    fc.array(fc.oneof({ weight: 9, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: fc.constantFrom(-1, 3, 0.5) })),
    { nil: undefined },
  ),
})
export const streamState: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('streamState' as const),
  stream: index,
})
const restoreStream: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('restoreStream' as const),
  stream: index,
  state: index,
})

/** Other tests compare CTC; the reference has no operations of devices. */
const OPERATIONS = CHECKED_ROWS.filter(({ name, row }) => name !== 'ctcLoss' && !row.isOfDevices).map(
  ({ name }) => name,
)

const operation: fc.Arbitrary<Statement> = fc.record({
  op: fc.constant('operation' as const),
  name: fc.constantFrom(...OPERATIONS),
  sizes: fc.tuple(size, size, size),
  argument,
})

/** Statements that may overlap with others of their kind: each starts its work when it is called. */
const simple: readonly fc.WeightedArbitrary<Statement>[] = [
  { weight: 3, arbitrary: params },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('slot' as const), model: index }) },
  { weight: 8, arbitrary: call },
  { weight: 6, arbitrary: gradients },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('tensor' as const),
      shape: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
      argument,
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('export' as const), model: index, params: index }) },
  { weight: 5, arbitrary: update },
  { weight: 3, arbitrary: apply },
  { weight: 4, arbitrary: operation },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('norm' as const),
      tensors: fc.array(index, { minLength: 1, maxLength: 3 }),
      limit: fc.constantFrom(undefined, 0.5, -1, 3),
    }),
  },
  { weight: 3, arbitrary: dispose },
]

const sequential: readonly fc.WeightedArbitrary<Statement>[] = [
  ...simple,
  { weight: 3, arbitrary: model },
  { weight: 2, arbitrary: stream },
  { weight: 5, arbitrary: step },
  { weight: 2, arbitrary: reset },
  { weight: 1, arbitrary: streamState },
  { weight: 1, arbitrary: restoreStream },
  { weight: 2, arbitrary: optimizer },
  { weight: 2, arbitrary: train },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('read' as const),
      kind: fc.constantFrom('opaque' as const, 'tensor' as const),
      index,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('import' as const),
      model: index,
      canonical: index,
      fault: sometimes(fc.constantFrom('size', 'otherFloat', 'integers', 'nothing'), 6),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('dropoutState' as const), model: index }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('restoreDropout' as const), model: index, state: index }) },
  { weight: 0.5, arbitrary: fc.record({ op: fc.constant('save' as const), params: index }) },
  { weight: 0.5, arbitrary: fc.record({ op: fc.constant('restore' as const), params: index, checkpoint: index }) },
].map(({ weight, arbitrary }) => ({ weight: weight * 10, arbitrary: arbitrary as fc.Arbitrary<Statement> }))

const once = (statement: Statement): Statement => (statement.op === 'call' ? { ...statement, times: 1 } : statement)

/** Programs; every one begins with a model and its parameters. */
export const programs: fc.Arbitrary<Program> = fc
  .record({
    dtype: fc.constantFrom('float64', 'float64', 'float64', 'float32'),
    threads: fc.integer({ min: 1, max: 3 }),
    dropout: fc.constantFrom(0, 0, 0, 0.4),
    eager: fc.boolean(),
    watched: fc.boolean(),
    ending: fc.nat(1000),
    first: model,
    rest: fc.array(
      fc.oneof(
        ...sequential,
        {
          weight: 40,
          arbitrary: fc.record({
            op: fc.constant('together' as const),
            body: fc.array(fc.oneof(...simple).map(once), { minLength: 2, maxLength: 5 }),
          }),
        },
        {
          weight: 30,
          arbitrary: fc.record({
            op: fc.constant('trainingStep' as const),
            body: fc.array(fc.oneof(...simple), { minLength: 1, maxLength: 5 }),
          }),
        },
        { weight: 2, arbitrary: fc.record({ op: fc.constant('closeExecutor' as const) }) },
      ),
      { minLength: 3, maxLength: 40, size: 'max' },
    ),
  } as const)
  .map(({ first, rest, ...options }) => ({
    ...options,
    statements: [first, { op: 'params', model: 0, seed: 1, kernel: 'glorot_uniform', bias: 0.1 } as const, ...rest],
  }))
