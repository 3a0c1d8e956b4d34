import fc from 'fast-check'
import type { Argument, Extreme, Program, State, Statement } from './program.js'
import { index, model, pass, rarely, rate, rule, size, stream, streamState } from './program_arbitrary.js'

/** Arguments of which few elements are extreme, so that results keep finite ones. */
const extremeOf = (...values: readonly Extreme['value'][]) =>
  fc.record({ value: fc.constantFrom(...values), at: fc.nat(500) })
const anyExtreme = extremeOf('NaN', 'Infinity', '-Infinity', 'huge', '-huge')
/** Without the fills at which cells saturate. */
const extremeArgumentOf = (extreme: fc.Arbitrary<Extreme>): fc.Arbitrary<Argument> =>
  fc.record({
    form: fc.constantFrom('host', 'own'),
    fill: fc.nat(5),
    extremes: fc.option(fc.array(extreme, { minLength: 1, maxLength: 2 }), { nil: undefined, freq: 3 }),
  })
const extremeArgument = extremeArgumentOf(anyExtreme)
/** For states and parameters: whether a saturated gate makes NaN of an infinity is up to the last bit of its sigmoid. */
const notInfinite = extremeOf('NaN', 'huge', '-huge')
const extremeState: fc.Arbitrary<State> = fc.oneof(
  fc.constantFrom<State>('zeros', 'carried'),
  extremeArgumentOf(notInfinite),
)

const extremeStatements: readonly fc.WeightedArbitrary<Statement>[] = [
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('import' as const),
      model: index,
      canonical: index,
      extreme: fc.option(notInfinite, { nil: undefined, freq: 2 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({ op: fc.constant('call' as const), model: index, params: index, ...pass, input: extremeArgument })
      .chain((drawn) =>
        fc.record({ h: extremeState, c: extremeState, training: fc.boolean() }).map((rest) => ({
          ...drawn,
          ...rest,
          times: 1,
        })),
      ),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('gradients' as const),
      tape: index,
      output: rarely(extremeArgument, 6),
      h: rarely(extremeArgument, 2),
      c: rarely(extremeArgument, 2),
      elsewhere: fc.constant(false),
    }),
  },
  { weight: 2, arbitrary: stream },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('step' as const),
      stream: index,
      time: fc.nat(3),
      input: extremeArgument,
    }),
  },
  { weight: 1, arbitrary: streamState },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('operation' as const),
      name: fc.constantFrom('linear', 'linearGradients', 'embedding', 'embeddingGradient', 'softmaxCrossEntropy'),
      sizes: fc.tuple(size, size, size),
      argument: extremeArgument,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('tensor' as const),
      shape: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
      argument: extremeArgument,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('update' as const),
      kind: fc.constant('tensor' as const),
      rule,
      target: index,
      source: fc.oneof(index, extremeArgument),
      rate,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('norm' as const),
      tensors: fc.array(index, { minLength: 1, maxLength: 3 }),
      limit: fc.constantFrom(undefined, 0.5, 3),
    }),
  },
]

/**
 * Programs whose parameters, inputs, states and gradients hold NaN, infinities and huge numbers. Results are read after each
 * statement, so that the comparison can stop if a value nears the end of the type's range.
 */
export const extremePrograms: fc.Arbitrary<Program> = fc
  .record({
    dtype: fc.constantFrom('float64', 'float32'),
    threads: fc.integer({ min: 1, max: 3 }),
    dropout: fc.constantFrom(0, 0, 0, 0.4),
    ending: fc.nat(1000),
    first: model,
    rest: fc.array(fc.oneof(...extremeStatements), { minLength: 3, maxLength: 12, size: 'max' }),
  } as const)
  .map(({ first, rest, ...options }) => ({
    ...{ ...options, eager: true, watched: false },
    statements: [
      first,
      { op: 'params', model: 0, seed: 1, kernel: 'glorot_uniform', bias: 0.1 } as const,
      { op: 'export', model: 0, params: 0 } as const,
      ...rest,
    ],
  }))
