import {
  type AnyRule,
  checkArguments,
  codedRangeError,
  FUNCTION,
  integerFrom,
  OBJECT,
  type OptionsOf,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { isValue, type Value } from '@cudnn-rnn/ops/executor'
import type { Forwarded } from './forwarded.js'
import type { LayerConfig, LayerDefinition } from './layer.js'
import type { LayerInitializer } from './layer_build.js'
import { checkLayerOptions, OWN_LAYER_OPTIONS, type OwnLayerOptions } from './layer_options.js'
import { type FeatureSignal, type LayerPlan, planned, type VariableTable } from './planned_layer.js'
import { type Signal, signalText } from './signal.js'

type Rules = Readonly<Record<string, AnyRule>>

/** Makes the layer; the options may be left out if none is required. */
type OwnLayer<Options> = (
  ...given: Partial<Options> extends Options ? [options?: Options] : [options: Options]
) => LayerDefinition

/**
 * Defines a layer of your own by its forward.
 *
 * @param kind names the layer in summaries, saved models and checkpoints.
 * @param options the rules of its options, which are checked by them; a saved model has their values.
 * @param build its variables, output and forward, for options, an input, and the values that it takes beside it. A pass whose
 *   forward gives another shape than the output's rejects with RangeError `ERR_SHAPE`.
 * @param others how many of these it takes at most: `pass.others` of its forward has them. Default 0.
 * @returns a function of options that makes the layer, as `dense` does; `loadModel(…, { layers: { kind: made } })` loads it
 * @throws TypeError `ERR_INVALID_ARGUMENT`
 * @example
 * ```ts
 * import { cudnnGRU, layer, openBackend, sequential } from '@cudnn-rnn/rnn'
 * import { integer } from '@cudnn-rnn/rnn/layers'
 *
 * const gated = layer('gated', { units: integer({ minimum: 1 }) }, ({ units }, input) => ({
 *   variables: { gate: [[input.features, units], 'glorot_uniform'], kernel: [[input.features, units], 'glorot_uniform'] },
 *   output: { ...input, features: units },
 *   forward: (t, x, { gate, kernel }) => t.multiply(t.activate(t.matmul(x, gate), 'sigmoid'), t.matmul(x, kernel)),
 * }))
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [gated({ units: 5 }), cudnnGRU({ numUnits: 4 })], { inputSize: 2 })
 * const { shape } = await model.predict({ data: new Float32Array(3 * 1 * 2), shape: [3, 1, 2] }) // [T,B,I]
 * console.log(shape) // [3, 1, 4]
 * ```
 */
export function layer<Own extends Rules, Table extends VariableTable>(
  kind: string,
  options: Own,
  build: (options: OptionsOf<Own>, input: FeatureSignal, others: readonly FeatureSignal[]) => LayerPlan<Table>,
  others = 0,
): OwnLayer<OptionsOf<Own> & OwnLayerOptions> {
  checkArguments(
    'define a layer',
    { kind, options, build, others },
    { kind: TEXT, options: OBJECT, build: FUNCTION, others: integerFrom(0) },
  )
  const rules = { ...options, ...OWN_LAYER_OPTIONS }
  return (given: object = {}) => {
    const own: unknown = checkLayerOptions<Rules>(kind, given as OptionsOf<Rules>, rules)
    const { name, initializers = {}, ...config } = own as OptionsOf<Own> & OwnLayerOptions & LayerConfig
    return planned<Table>({ kind, base: kind, name, config, others }, (input, _, given) => {
      const { forward, ...plan } = build(config as unknown as OptionsOf<Own>, input, given)
      return {
        ...plan,
        variables: withInitializers(kind, plan.variables ?? ({} as Table), initializers),
        forward: (t, x, variables, pass) => {
          const value = t.value(x)
          const fitting = (result: Value | Forwarded) => checkedOutput(kind, plan.output, value, result)
          const result = forward(t, value, variables, pass)
          return result instanceof Promise ? result.then(fitting) : fitting(result)
        },
      }
    })
  }
}

/** @throws RangeError `ERR_INVALID_OPTION` for a name that no variable has */
function withInitializers<Table extends VariableTable>(
  kind: string,
  table: Table,
  initializers: Readonly<Record<string, LayerInitializer>>,
): Table {
  const unknown = Object.keys(initializers).find((name) => !Object.hasOwn(table, name))
  if (unknown !== undefined) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot build ${kind} as initializers must have names of its variables, ${Object.keys(table).join(', ') || 'which are none'}: current name is "${unknown}"`,
      { option: 'initializers', value: unknown },
    )
  }
  const begun = Object.entries(table).map(([name, [shape, own]]) => [name, [shape, initializers[name] ?? own]])
  return Object.fromEntries(begun) as Table
}

/** A result of a forward, whose shape must be the one that the layer after it and the loss were built for; B is the input's. */
function checkedOutput<Result extends Value | Forwarded>(
  kind: string,
  signal: Signal,
  { shape: given }: Value,
  result: Result,
): Result {
  const output = isValue(result) ? result : (result as Forwarded | undefined)?.output
  // Any other result is refused where tapes end.
  if (!isValue(output)) return result
  const { shape } = output
  const rank = signal.isSequence ? 3 : 2
  if (shape.length === rank && shape.at(-1) === signal.features && shape.at(-2) === given.at(-2)) return result
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot compute layer ${kind} as its forward must give its output, ${signalText(signal)}, for the rows of its input: the input has shape [${given}], the current shape is [${shape}]`,
    { layer: kind, actual: shape },
  )
}
