import { describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  FLAG,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import type { Variable } from '@cudnn-rnn/models'
import { type Backend, type BackendTensor, type FloatDType, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import {
  checkSequenceLengths,
  checkTensor,
  type GradientTape,
  handleOf,
  isValue,
  onTape,
  Recording,
  tapeRule,
  type Value,
} from '@cudnn-rnn/ops/executor'
import { type Forwarded, forwardedOf, type LayerGradients, type LayerInput } from './forwarded.js'
import type { LayerBuild } from './layer_build.js'
import { type LayerStream, statelessStream } from './layer_stream.js'
import { LayerTape } from './layer_tape.js'
import { type Signal, signalText } from './signal.js'

/** Node.js calls the method of this name to print an object, as in `Inspectable`. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom')

/** The description of a layer in a saved model: plain JSON. */
export type LayerConfig = { readonly [option: string]: ConfigValue }
export type ConfigValue = string | number | boolean | null | readonly ConfigValue[] | LayerConfig

/** A layer whose sizes are not known yet: the result of `dense(…)`, `cudnnLSTM(…)`, … */
export interface LayerDefinition {
  /** The function that made it. */
  readonly kind: string
  readonly name: string | undefined
  /** The options as they are saved. */
  readonly config: LayerConfig
  /** The input that the layer requires, where it requires one: an embedding takes class ids. */
  readonly input?: Signal | undefined
  /** Treats every step of a sequence separately, and keeps no state. */
  readonly isStepwise?: boolean | undefined
  /** How many final states a recurrent layer has as values of a model. Default: 0. */
  readonly states?: number | undefined
  /** Its sizes for an input of numbers, before it is built; absent if its output has the form of its input. */
  readonly sizes?: ((input: Signal, others?: readonly Signal[]) => LayerSizes) | undefined
  /** How many values it takes beside its input, at most. Default: 0. */
  readonly others?: number | undefined
  /**
   * Fixes the sizes, and makes the variables. Throws RangeError `ERR_LAYERS_DO_NOT_FIT`.
   *
   * @param others values that it takes beside its input
   */
  build(input: Signal, build: LayerBuild, others?: readonly Signal[]): Layer
}

/** @param others lengths of the values beside the input, which are null if all rows have all steps */
type OutputLengths = (lengths: Int32Array, others?: readonly (Int32Array | null)[]) => Int32Array

export interface LayerSizes {
  readonly output: Signal
  /** Shapes of its variables by their names. */
  readonly variables?: Readonly<Record<string, readonly [shape: readonly number[], ...initial: unknown[]]>> | undefined
  /** The lengths of the output's rows, given the lengths of the input's. Default: the same. */
  readonly outputLengths?: OutputLengths | undefined
  /** Each step of a sequence is computed without the others: then the layer streams. */
  readonly isStepwise?: boolean | undefined
}

type RowLengths = readonly number[] | Int32Array | null

/** Lengths of rows; of a model of several inputs one list for all sequences, or lists by the names of inputs. */
export type SequenceLengths = RowLengths | Readonly<Record<string, RowLengths>>

// The lengths and the states are checked below, against the input and the layer.
export const CALL_OPTIONS = {
  /** Default true: dropout applies, and a tape is returned. */
  isTraining: optional(FLAG),
  /** One length in 0..T per batch row; absent when every row has T steps. A model of several inputs takes them by the names of its inputs. */
  sequenceLengths: checkedElsewhere<SequenceLengths | undefined>(),
  /** Initial states of the recurrent layers, as an earlier call returned them; absent for zeros. */
  states: checkedElsewhere<readonly TensorLike[] | null | undefined>(),
  /** Returns the final states. Default false. */
  keepStates: optional(FLAG),
}

export interface LayerCallOptions extends OptionsOf<typeof CALL_OPTIONS> {}

/** Result of a pass; the tensors are the caller's. */
export type LayerCallResult = {
  readonly output: BackendTensor
  /** The tape of a training pass, for one `gradients()`; dispose it if none follows. It reads `output` and the input again. */
  readonly tape: LayerTape | undefined
  /** Final states of the recurrent layers; empty without `keepStates`. */
  readonly states: readonly BackendTensor[]
}

const { isTraining: _, ...RECORD_OPTIONS } = CALL_OPTIONS

export interface LayerRecordOptions extends OptionsOf<typeof RECORD_OPTIONS> {}

/** One pass, as the forward of a layer sees it. */
export interface Pass {
  /** [B], or null if every row has all steps. */
  readonly lengths: Int32Array | null
  /** The layer's own initial states; null for zeros. */
  readonly states: readonly LayerInput[] | null
  readonly keepsStates: boolean
  /** Whether later passes bring further steps. */
  readonly isStream: boolean
  /** The states are values of a model, through which gradients pass. */
  readonly isLinked?: boolean | undefined
  /** Values that the layer takes beside its input. */
  readonly others?: readonly OtherInput[] | undefined
}

/** A value that a layer takes beside its input. */
interface OtherInput {
  readonly x: LayerInput
  readonly lengths: Int32Array | null
}

const STEP: Pass = { lengths: null, states: null, keepsStates: false, isStream: true }

export interface LayerInfo {
  readonly definition: LayerDefinition
  readonly name: string
  readonly input: Signal
  readonly output: Signal
  readonly variables?: readonly Variable[] | undefined
  readonly others?: readonly Signal[] | undefined
}

/**
 * A layer with sizes and variables.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { dense, LayerBuild } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const definition = dense({ units: 2, kernelInitializer: 1 })
 * const layer = definition.build({ isSequence: false, features: 3 }, new LayerBuild(backend))
 * const input = { data: Float32Array.of(1, 2, 3), shape: [1, 3] } // [B,I]
 * const { output, tape } = await layer.call(input)
 * console.log(await output.data()) // [6, 6]
 * const { variables } = await layer.gradients(tape!, output)
 * console.log(variables.map(({ shape }) => shape)) // [[3, 2], [2]]
 * ```
 */
export abstract class Layer {
  readonly definition: LayerDefinition
  readonly name: string
  readonly input: Signal
  readonly output: Signal
  readonly variables: readonly Variable[]
  /** Values that it takes beside its input. */
  readonly others: readonly Signal[]
  protected readonly backend: Backend

  constructor(backend: Backend, { definition, name, input, output, variables = [], others = [] }: LayerInfo) {
    this.backend = backend
    this.definition = definition
    this.name = name
    this.input = input
    this.output = output
    this.variables = variables
    this.others = others
  }

  get kind(): string {
    return this.definition.kind
  }

  /** One line, or the table of a whole model; `console.log` prints it. */
  toString(): string {
    return `${this.name} (${this.kind}): ${signalText(this.input)} to ${signalText(this.output)}`
  }

  [INSPECT](): string {
    return this.toString()
  }

  /** The layers that it is made of: states, generators and variables are theirs. */
  get parts(): readonly Layer[] {
    return []
  }

  /** How many tensors of state a pass takes and returns. */
  get stateCount(): number {
    return this.parts.reduce((sum, { stateCount }) => sum + stateCount, 0)
  }

  /** Shapes of those tensors for B rows. */
  stateShapes(batch: number): readonly (readonly number[])[] {
    return this.parts.flatMap((part) => part.stateShapes(batch))
  }

  /** The lengths of the output's rows, given the input rows': fewer if the layer takes several steps together. */
  outputLengths(lengths: Int32Array, _others: readonly (Int32Array | null)[] = []): Int32Array {
    return lengths
  }

  /**
   * Runs a batch.
   *
   * @param input as {@link Layer.input} specifies: [T,B,I] or [B,I], class ids without the last dimension.
   * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_LAYER_STATES`, `ERR_ID_OUT_OF_RANGE`; TypeError `ERR_DTYPE`,
   *   `ERR_NOT_A_TENSOR`
   */
  async call(input: TensorLike, options: LayerCallOptions = {}): Promise<LayerCallResult> {
    const action = `call ${this.name}`
    const { isTraining = true, sequenceLengths = null, ...states } = checkOptions(action, options, CALL_OPTIONS)
    const { x: given, lengths } = this.checkedInput(action, input, sequenceLengths)
    const pass = this.#pass(action, lengths, states)
    if (!isTraining) {
      const [output, ...states] = await this.results(given, pass)
      return { output, tape: undefined, states }
    }
    // Class ids have no gradient.
    const isNumbers = this.input.features !== null && 'shape' in given
    const value = isBackendTensor(given) || !isNumbers ? given : this.backend.tensor(given as Tensor<FloatArray>)
    const x = { name: 'input', value: value as BackendTensor }
    const sources = isNumbers ? [x, ...this.variables] : this.variables
    const recording = new Recording(this.backend, sources)
    if (value !== given) recording.own(x.value)
    try {
      const t = handleOf(recording)
      const { output, states = [] } = await this.#forwarded(t, isNumbers ? t.value(x) : value, pass)
      const [y, ...final] = recording.take([output, ...states])
      return { output: y, tape: new LayerTape(this, { recording, output, sources }), states: final }
    } catch (error) {
      await recording.end()
      throw error
    }
  }

  /**
   * Runs a batch on a tape, which trains the variables that it lists: a layer or a model in a loss of your own.
   *
   * @throws as {@link call}; TypeError `ERR_INVALID_ARGUMENT`
   */
  async record(t: GradientTape, input: LayerInput, options: LayerRecordOptions = {}): Promise<Forwarded> {
    const action = `call ${this.name}`
    checkArguments(action, { t }, { t: tapeRule() })
    const given = checkOptions(action, options, RECORD_OPTIONS)
    const { x, lengths } = this.checkedInput(action, input, given.sequenceLengths ?? null)
    return this.#forwarded(t, x, this.#pass(action, lengths, given))
  }

  /**
   * Gradients of a loss, given its gradient with respect to the output of the call that made `tape`.
   *
   * @throws RangeError `ERR_LAYER_TAPE`, `ERR_SHAPE`; TypeError `ERR_DTYPE`, `ERR_NOT_A_TENSOR`
   */
  async gradients(tape: LayerTape, outputGradient: TensorLike): Promise<LayerGradients> {
    const action = `compute the gradients of ${this.name}`
    const { dtype } = this.backend
    const { recording, output, sources } = LayerTape.of(action, this, tape)
    checkTensor(action, 'outputGradient', outputGradient, { dtype, shape: output.shape })
    tape.consume()
    try {
      const gradient = outputGradient as BackendTensor | Tensor<FloatArray>
      using uploaded = isBackendTensor(gradient) ? undefined : this.backend.tensor(gradient)
      await recording.differentiate(output, uploaded ?? (gradient as BackendTensor))
      const gradients = recording.take([], sources)
      const input = sources === this.variables ? undefined : gradients.shift()
      return { input, variables: gradients }
    } finally {
      tape.dispose()
    }
  }

  /**
   * Steps of streams through this layer, states at zero. They follow from its forward if the layer treats steps alone.
   *
   * @throws RangeError `ERR_NO_STREAM`
   */
  openStream(_batch: number): LayerStream {
    if (this.isStepwise) return statelessStream((input) => this.step(input))
    throw codedRangeError(
      'ERR_NO_STREAM',
      `Cannot open a stream as layer ${this.name} (${this.kind}) needs the whole sequence: use predict()`,
      { layer: this.name },
    )
  }

  /** Number of the dropout mask to draw next, or the state of a generator; null if the layer draws nothing. */
  async randomState(): Promise<ConfigValue> {
    return null
  }

  /** Restores a result of {@link randomState}. */
  restoreRandomState(_state: ConfigValue): void {}

  /**
   * Draws masks from the beginning of a stream of the layer's seed, if it draws from another one. Streams have different masks,
   * and each rank of a training has its own; a new layer draws from 0.
   *
   * @param stream an integer in 0..2^17-1
   */
  useRandomStream(stream: number): void {
    for (const part of this.parts) part.useRandomStream(stream)
  }

  /** Releases the variables. */
  dispose(): void {
    for (const owner of this.parts.length > 0 ? this.parts : this.variables) owner.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  /** Each step of a sequence is computed without the others. */
  protected get isStepwise(): boolean {
    return this.definition.isStepwise === true
  }

  /** The output of a pass without gradients, then its states. */
  protected results(x: LayerInput, pass: Pass): Promise<BackendTensor[]> {
    return onTape(new Recording(this.backend, [], false), async (t) => {
      const { output, states = [] } = await this.#forwarded(t, x, pass)
      return t.recording.take([output, ...states])
    })
  }

  /** The forward of steps of a stream, without gradients. */
  protected async step(x: TensorLike): Promise<BackendTensor> {
    const [y] = await this.results(x, STEP)
    return y
  }

  /** The pass itself, on a tape that is a scope and an input that fits {@link Layer.input}; its gradients follow. */
  abstract forward(t: GradientTape, x: LayerInput, pass: Pass): Value | Forwarded | Promise<Value | Forwarded>

  async #forwarded(t: GradientTape, x: LayerInput, pass: Pass): Promise<Forwarded> {
    return forwardedOf(t, await t.scope((inner) => this.forward(inner, x, pass)))
  }

  /** An input that fits {@link Layer.input}, with its lengths. */
  protected checkedInput(action: string, input: LayerInput, lengths: SequenceLengths): CheckedInput {
    const { dtype } = this.backend
    return {
      x: checkedTensor(action, 'input', input, this.input, dtype),
      lengths: checkedLengths(action, input, this.input, lengths),
    }
  }

  #pass(action: string, lengths: Int32Array | null, options: LayerRecordOptions): Pass {
    const { states = null, keepStates = false } = options
    if (states === null || (Array.isArray(states) && states.length === this.stateCount)) {
      return { lengths, states, keepsStates: keepStates, isStream: false }
    }
    throw codedRangeError(
      'ERR_LAYER_STATES',
      `Cannot ${action} as states must be a list of ${this.stateCount}: current value is ${Array.isArray(states) ? `a list of ${states.length}` : describeValue(states)}`,
      { expected: this.stateCount },
    )
  }
}

export interface CheckedInput {
  readonly x: LayerInput
  readonly lengths: Int32Array | null
}

/** A tensor of the form of a signal, of at least one row and step. */
export function checkedTensor(
  action: string,
  name: string,
  input: LayerInput,
  { isSequence, features }: Signal,
  dtype: FloatDType,
): LayerInput {
  const leading = isSequence ? ['T', 'B'] : ['B']
  const rule =
    features === null ? ({ dtype: 'int32', shape: leading } as const) : { dtype, shape: [...leading, features] }
  const onTape = isValue(input) ? input : undefined
  const taken = checkTensor(action, name, onTape?.tensor ?? (input as TensorLike), rule)
  if (taken.shape.slice(0, leading.length).every((size) => size > 0)) return onTape ?? taken
  throw codedRangeError(
    'ERR_EMPTY_BATCH',
    `Cannot ${action} as there must be at least one row${isSequence ? ' and one step' : ''}: current shape is [${taken.shape.join(',')}]`,
    { actual: taken.shape },
  )
}

/** Lengths of the rows of a tensor. */
export function checkedLengths(
  action: string,
  { shape }: LayerInput,
  signal: Signal,
  lengths: SequenceLengths | undefined,
): Int32Array | null {
  if (lengths === null || lengths === undefined) return null
  if (!signal.isSequence) {
    throw codedRangeError(
      'ERR_SEQUENCE_LENGTHS',
      `Cannot ${action} as sequenceLengths are for sequences: current input is ${signalText(signal)}`,
    )
  }
  const [time, batch] = shape as readonly [number, number]
  return checkSequenceLengths(action, lengths as Int32Array, time, batch)
}
