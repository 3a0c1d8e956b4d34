import { type AnyRule, checkArguments, FUNCTION, OBJECT, type OptionsOf, TEXT } from '@cudnn-rnn/arguments'
import type { TensorLike } from '@cudnn-rnn/backend'
import type { GradientTape, Value } from '@cudnn-rnn/executor-kit'
import type { Variable } from '@cudnn-rnn/models'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerConfig, type LayerDefinition, type LayerInfo, type Pass } from './layer.js'
import type { LayerBuild, LayerInitializer } from './layer_build.js'
import { ANY_FLOATS, checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from './layer_options.js'
import { type LayerStream, statelessStream } from './layer_stream.js'
import { recordedForward } from './recorded_forward.js'
import type { Signal } from './signal.js'

/** The input of a layer of numbers. */
export interface FeatureSignal extends Signal {
  readonly features: number
}

/** Shapes and initial values of a layer's variables, by their names. */
type VariableTable = Readonly<Record<string, readonly [shape: readonly number[], initializer: LayerInitializer]>>

/**
 * The variables of a layer by their names. The names are checked where `build` declares the types of its parameters; elsewhere
 * every name is accepted, and one that does not exist is refused as an operand.
 */
type VariablesOf<Table> = string extends keyof Table
  ? // biome-ignore lint/suspicious/noExplicitAny: a caller's compiler may take an indexed record for undefined
    Readonly<Record<string, any>>
  : { readonly [Name in keyof Table]: Variable }

/** The pass, as the forward of a layer sees it. */
export interface ForwardPass {
  /** [B], or null where every row has all steps. */
  readonly lengths: Int32Array | null
}

/** A layer whose sizes are known. */
export interface LayerPlan<Table extends VariableTable = VariableTable> {
  readonly variables?: Table | undefined
  readonly output: Signal
  /** Each step of a sequence is computed without the others: then the layer streams. */
  readonly isStepwise?: boolean | undefined
  /** The lengths of the output's rows, given those of the input's. Default: the same. */
  readonly outputLengths?: ((lengths: Int32Array) => Int32Array) | undefined
  /**
   * Computes the output on a tape, which is a scope; its gradients follow.
   *
   * @param x [T,B,I] or [B,I]
   */
  readonly forward: (
    t: GradientTape,
    x: Value,
    variables: VariablesOf<Table>,
    pass: ForwardPass,
  ) => Value | Promise<Value>
}

type Rules = Readonly<Record<string, AnyRule>>

/**
 * Defines a layer of your own by its forward.
 *
 * @param kind names the layer in summaries, saved models and checkpoints.
 * @param options the rules of its options, which are checked by them; a saved model has their values.
 * @param build its variables, output and forward, for options and an input.
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
  build: (options: OptionsOf<Own>, input: FeatureSignal) => LayerPlan<Table>,
): (options: OptionsOf<Own> & LayerOptions) => LayerDefinition {
  checkArguments('define a layer', { kind, options, build }, { kind: TEXT, options: OBJECT, build: FUNCTION })
  const rules = { ...options, ...LAYER_OPTIONS }
  return (given) => {
    checkLayerOptions<Rules>(kind, given, rules)
    const { name, ...config } = given as OptionsOf<Own> & LayerOptions & LayerConfig
    const definition: LayerDefinition = {
      ...{ kind, name, config },
      build(input, model) {
        checkInputRule(definition, input, ANY_FLOATS)
        const plan = build(config as unknown as OptionsOf<Own>, input as FeatureSignal)
        const own = model.nameOf(name, kind)
        const specs = Object.entries(plan.variables ?? {}).map(
          ([each, [shape, value]]) => [each, shape, value] as const,
        )
        const variables = model.variables(own, specs)
        return new OwnLayer(model, { definition, name: own, input, output: plan.output, variables }, plan as never)
      },
    }
    return definition
  }
}

/** A layer that records its forward. */
class OwnLayer extends Layer {
  readonly #plan: LayerPlan
  readonly #named: Readonly<Record<string, Variable>>

  constructor({ backend }: LayerBuild, info: LayerInfo, plan: LayerPlan) {
    super(backend, info)
    this.#plan = plan
    const names = Object.keys(plan.variables ?? {})
    this.#named = Object.fromEntries(names.map((name, k) => [name, this.variables[k]]))
  }

  forward(input: TensorLike, { isTraining, lengths }: Pass): Promise<Forwarded> {
    return recordedForward(this.backend, this.variables, input, isTraining, async (t, x) => ({
      output: await this.#plan.forward(t, x, this.#named, { lengths: lengths?.data ?? null }),
    }))
  }

  override outputLengths(lengths: Int32Array): Int32Array {
    return this.#plan.outputLengths?.(lengths) ?? lengths
  }

  override openStream(batch: number): LayerStream {
    if (this.#plan.isStepwise !== true) return super.openStream(batch)
    return statelessStream(async (input) => {
      const { output, release } = await this.forward(input, { isTraining: false, lengths: null, keepsStates: false })
      release?.()
      return output
    })
  }
}
