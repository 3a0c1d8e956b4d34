import type { Variable } from '@cudnn-rnn/models'
import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import type { Forwarded, LayerInput } from './forwarded.js'
import { Layer, type LayerDefinition, type LayerInfo, type LayerSizes, type Pass } from './layer.js'
import type { LayerInitializer } from './layer_build.js'
import { ANY_FLOATS, checkInputRule, type InputRule } from './layer_options.js'
import type { LayerStream } from './layer_stream.js'
import type { Signal } from './signal.js'

export interface FeatureSignal extends Signal {
  readonly features: number
}

/** Shapes and initial values of a layer's variables, by their names. */
export type VariableTable = Readonly<Record<string, readonly [shape: readonly number[], initializer: LayerInitializer]>>

/**
 * The variables of a layer by their names. The names are checked where `build` declares the types of its parameters; elsewhere
 * every name is accepted, and one that does not exist is refused as an operand.
 */
type VariablesOf<Table> = string extends keyof Table
  ? // biome-ignore lint/suspicious/noExplicitAny: a caller's compiler may take an indexed record for undefined
    Readonly<Record<string, any>>
  : { readonly [Name in keyof Table]: Variable }

/** A layer whose sizes are known. */
export interface LayerPlan<Table extends VariableTable = VariableTable, Input extends LayerInput = Value>
  extends LayerSizes {
  readonly variables?: Table | undefined
  /**
   * Computes the output on a tape, which is a scope; its gradients follow.
   *
   * @param x [T,B,I] or [B,I]
   */
  readonly forward: (
    t: GradientTape,
    x: Input,
    variables: VariablesOf<Table>,
    pass: Pass,
  ) => Value | Forwarded | Promise<Value | Forwarded>
  /** Steps of streams, where they do not follow from the forward; undefined for options whose layer has no stream. */
  readonly openStream?:
    | ((batch: number, backend: Backend, step: (x: TensorLike) => Promise<BackendTensor>) => LayerStream | undefined)
    | undefined
}

/** The part of a layer that is known before its sizes. */
export interface LayerRow extends Omit<LayerDefinition, 'build'> {
  /** Begins the name of a layer that is not given one. */
  readonly base: string
  /** Default: numbers. */
  readonly takes?: InputRule
}

/** The definition of a layer that is its forward. */
export function planned<Table extends VariableTable>(
  { base, takes = ANY_FLOATS, ...row }: LayerRow,
  build: (input: FeatureSignal, name: string, others: readonly FeatureSignal[]) => LayerPlan<Table, LayerInput>,
): LayerDefinition {
  const definition: LayerDefinition = {
    ...row,
    sizes: (input, others = []) => build(input as FeatureSignal, row.name ?? row.kind, others as FeatureSignal[]),
    build(input, model, others = []) {
      for (const each of [input, ...others]) checkInputRule(definition, each, takes)
      const name = model.nameOf(row.name, base)
      const plan = build(input as FeatureSignal, name, others as FeatureSignal[]) as unknown as AnyPlan
      const specs = Object.entries(plan.variables ?? {})
      const variables =
        specs.length === 0
          ? []
          : model.variables(
              name,
              specs.map(([own, [shape, value]]) => [own, shape, value] as const),
            )
      const info = { definition, name, input, output: plan.output, variables, others }
      return new PlannedLayer(model.backend, info, plan)
    },
  }
  return definition
}

type AnyPlan = LayerPlan<VariableTable, LayerInput>

class PlannedLayer extends Layer {
  readonly #plan: AnyPlan
  readonly #named: Readonly<Record<string, Variable>>

  constructor(backend: Backend, info: LayerInfo, plan: AnyPlan) {
    super(backend, info)
    this.#plan = plan
    const names = Object.keys(plan.variables ?? {})
    this.#named = Object.fromEntries(names.map((name, k) => [name, this.variables[k]]))
  }

  forward(t: GradientTape, x: LayerInput, pass: Pass) {
    return this.#plan.forward(t, x, this.#named, pass)
  }

  protected override get isStepwise(): boolean {
    return super.isStepwise || this.#plan.isStepwise === true
  }

  override outputLengths(lengths: Int32Array, others: readonly (Int32Array | null)[] = []): Int32Array {
    return this.#plan.outputLengths?.(lengths, others) ?? lengths
  }

  override openStream(batch: number): LayerStream {
    return this.#plan.openStream?.(batch, this.backend, (x) => this.step(x)) ?? super.openStream(batch)
  }
}
