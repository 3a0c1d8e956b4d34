import { checkedElsewhere, checkOptions, FLAG, type OptionsOf, optional } from '@cudnn-rnn/arguments'
import { type Backend, type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { checkSequenceLengths, checkTensor } from '@cudnn-rnn/executor-kit'
import type { Variable } from '@cudnn-rnn/models'
import { codedRangeError } from './coded_error.js'
import type { Forwarded, LayerGradients } from './forwarded.js'
import type { LayerBuild } from './layer_build.js'
import type { LayerStream } from './layer_stream.js'
import { LayerTape } from './layer_tape.js'
import { type Signal, signalText } from './signal.js'

/** As in `Inspectable`: Node.js calls the method of this name to print an object. */
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
  /** Fixes the sizes, and makes the variables. Throws RangeError `ERR_LAYERS_DO_NOT_FIT`. */
  build(input: Signal, build: LayerBuild): Layer
}

// The lengths and the states are checked below, against the input and the layer.
export const CALL_OPTIONS = {
  /** Default true: dropout applies, and a tape is returned. */
  isTraining: optional(FLAG),
  /** One length in 0..T per batch row; absent when every row has T steps. */
  sequenceLengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
  /** Initial states of the recurrent layers, as an earlier call returned them; absent for zeros. */
  states: checkedElsewhere<readonly TensorLike[] | null | undefined>(),
  /** Returns the final states. Default false. */
  keepStates: optional(FLAG),
}

/** Options of one pass through a layer or a model. */
export interface LayerCallOptions extends OptionsOf<typeof CALL_OPTIONS> {}

/** Result of a pass; the tensors are the caller's. */
export interface LayerCallResult {
  readonly output: BackendTensor
  /** Of a training pass, for one `gradients()`; dispose it where none follows. It reads `output` and the input again. */
  readonly tape: LayerTape | undefined
  /** Final states of the recurrent layers; empty without `keepStates`. */
  readonly states: readonly BackendTensor[]
}

/** One pass, as layers see it. */
export interface Pass {
  readonly isTraining: boolean
  /** [B], or null. */
  readonly lengths: Tensor<Int32Array> | null
  readonly keepsStates: boolean
}

export interface LayerInfo {
  readonly definition: LayerDefinition
  readonly name: string
  readonly input: Signal
  readonly output: Signal
  readonly variables?: readonly Variable[] | undefined
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
 * console.log((await output.read()).data) // [6, 6]
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
  protected readonly backend: Backend

  constructor(backend: Backend, { definition, name, input, output, variables = [] }: LayerInfo) {
    this.backend = backend
    this.definition = definition
    this.name = name
    this.input = input
    this.output = output
    this.variables = variables
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

  /** How many tensors of state a pass takes and returns. */
  get stateCount(): number {
    return 0
  }

  /** Shapes of those tensors for B rows. */
  stateShapes(_batch: number): readonly (readonly number[])[] {
    return []
  }

  /** The lengths of the output's rows, given those of the input's: fewer where the layer takes several steps together. */
  outputLengths(lengths: Int32Array): Int32Array {
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
    checkOptions(action, options, CALL_OPTIONS)
    const { isTraining = true, states = null } = options
    const taken = this.#checkInput(action, input)
    const pass = {
      isTraining,
      lengths: this.#lengths(action, taken, options),
      keepsStates: options.keepStates ?? false,
    }
    if (states !== null && (!Array.isArray(states) || states.length !== this.stateCount)) {
      throw codedRangeError(
        'ERR_LAYER_STATES',
        `Cannot ${action} as states must be a list of ${this.stateCount}: current value is ${Array.isArray(states) ? `a list of ${states.length}` : describeValue(states)}`,
        { expected: this.stateCount },
      )
    }
    const forwarded = await this.forward(taken, pass, states)
    const tape = isTraining ? new LayerTape(this, forwarded) : undefined
    if (!isTraining) forwarded.release?.()
    return { output: forwarded.output, tape, states: forwarded.states ?? [] }
  }

  /**
   * Gradients of a loss, given its gradient with respect to the output of the call that made `tape`.
   *
   * @throws RangeError `ERR_LAYER_TAPE`, `ERR_SHAPE`; TypeError `ERR_DTYPE`, `ERR_NOT_A_TENSOR`
   */
  async gradients(tape: LayerTape, outputGradient: TensorLike): Promise<LayerGradients> {
    const action = `compute the gradients of ${this.name}`
    const { dtype } = this.backend
    const { output } = LayerTape.of(action, this, tape)
    checkTensor(action, 'outputGradient', outputGradient, { dtype, shape: output.shape })
    const backward = tape.consume()
    try {
      const gradient = outputGradient as BackendTensor | Tensor<FloatArray>
      if (isBackendTensor(gradient)) return await backward(gradient)
      using uploaded = this.backend.tensor(gradient)
      return await backward(uploaded)
    } finally {
      tape.dispose()
    }
  }

  /**
   * Steps of streams through this layer, states at zero.
   *
   * @throws RangeError `ERR_NO_STREAM`
   */
  openStream(_batch: number): LayerStream {
    throw codedRangeError(
      'ERR_NO_STREAM',
      `Cannot open a stream as layer ${this.name} (${this.kind}) needs the whole sequence: use predict()`,
      { layer: this.name },
    )
  }

  /** Number of the dropout mask to draw next, or the state of a generator; null where the layer draws nothing. */
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
  useRandomStream(_stream: number): void {}

  /** Releases the variables. */
  dispose(): void {
    for (const variable of this.variables) variable.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  /** The pass itself, on an input that fits {@link Layer.input}. */
  abstract forward(input: TensorLike, pass: Pass, states: readonly TensorLike[] | null): Promise<Forwarded>

  #checkInput(action: string, input: TensorLike): TensorLike {
    const { isSequence, features } = this.input
    const leading = isSequence ? ['T', 'B'] : ['B']
    const rule =
      features === null
        ? ({ dtype: 'int32', shape: leading } as const)
        : { dtype: this.backend.dtype, shape: [...leading, features] }
    const taken = checkTensor(action, 'input', input, rule)
    if (taken.shape.slice(0, leading.length).every((size) => size > 0)) return taken
    throw codedRangeError(
      'ERR_EMPTY_BATCH',
      `Cannot ${action} as there must be at least one row${isSequence ? ' and one step' : ''}: current shape is [${taken.shape.join(',')}]`,
      { actual: taken.shape },
    )
  }

  #lengths(action: string, input: TensorLike, { sequenceLengths }: LayerCallOptions): Tensor<Int32Array> | null {
    if (sequenceLengths === null || sequenceLengths === undefined) return null
    if (!this.input.isSequence) {
      throw codedRangeError(
        'ERR_SEQUENCE_LENGTHS',
        `Cannot ${action} as sequenceLengths are for sequences: current input is ${signalText(this.input)}`,
      )
    }
    const [time, batch] = input.shape as [number, number]
    const lengths = checkSequenceLengths(action, sequenceLengths, time, batch)
    return lengths && { data: lengths, shape: [batch] }
  }
}
