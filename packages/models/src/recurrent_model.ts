import {
  type AbortSignalLike,
  type CanonicalParams,
  type CellMode,
  createRnnDescriptor,
  type FloatArray,
  hiddenColumns,
  Inspectable,
  layoutKey,
  numDirections,
  numPseudoLayers,
  paramRegions,
  type RnnDescriptor,
  type Summary,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { checkOptionNames, checkOptions, codedTypeError, inTurn, isFloatArray } from '@cudnn-rnn/canonical/rules'
import {
  type Backend,
  type BackendTensor,
  DTYPES,
  type FloatDType,
  type Rnn,
  type RnnForwardResult,
  type RnnInputGradients,
  type Tape,
  type TensorLike,
} from '@cudnn-rnn/ops'
import { type GradientTape, isTapeHandle, isVariable, ofDtype, type Operand, type Value } from '@cudnn-rnn/ops/executor'
import type { LSTMOutputGradients } from './call_result.js'
import { checkCreateParamsOptions, type CreateParamsOptions } from './create_params_options.js'
import { initialCanonical } from './initializers.js'
import { checkModelArguments } from './model_arguments.js'
import { CALL_OPTIONS, type CallOptions, type DescriptorOptions, type LSTMOptions } from './model_options.js'
import {
  recordedRun,
  type RecordedRunOptions,
  type RecordedRunResult,
  RUN_OPTIONS,
  type RunOptions,
  type RunResult,
  STATE_OPTIONS,
} from './recorded_run.js'
import { type ParamsOwner, type SharedParams, sharedVariable, shareParams } from './shared_params.js'
import { openStream, type StreamOptions } from './streams/open_stream.js'
import { openStreamPool } from './streams/open_stream_pool.js'
import type { StreamPoolOptions } from './streams/pool_options.js'
import type { Stream } from './streams/stream.js'
import type { StreamPool } from './streams/stream_pool.js'
import { DEFAULT_NAME, type Params, paramsName, paramsTensor, Variable } from './variable.js'

/** Canonical tensors of a model and the descriptor that explains their order. */
type ModelCanonicalParams = CanonicalParams & {
  readonly descriptor: RnnDescriptor
}

/** In the printed form of a model, to be read before it is trained. */
const NO_INPUT_MATRICES = 'skip_input: no input matrices in the first layer, no export to other frameworks'

/**
 * Base class of the four models. A model owns the executor's preparation of one network; weights are the caller's
 * variables, so one model serves many.
 *
 * @example
 * ```ts
 * import type { RecurrentModel } from '@cudnn-rnn/models'
 * import { CudnnGRU, CudnnLSTM, openBackend } from '@cudnn-rnn/rnn'
 *
 * // The elements of all weight matrices, of any of the four models.
 * async function weightCount(model: RecurrentModel) {
 *   const { weights } = await model.paramsToCanonical(model.createParams())
 *   return weights.reduce((sum, { shape: [rows = 0, columns = 0] }) => sum + rows * columns, 0)
 * }
 * const backend = await openBackend('reference')
 * const options = { numLayers: 1, numUnits: 8, inputSize: 4 }
 * console.log(await weightCount(new CudnnLSTM(backend, options))) // 384
 * console.log(await weightCount(new CudnnGRU(backend, options))) // 288
 * ```
 */
export abstract class RecurrentModel<Cell extends CellMode = CellMode> extends Inspectable {
  readonly descriptor: RnnDescriptor
  readonly #backend: Backend
  readonly #rnn: Rnn

  /**
   * @throws TypeError `ERR_NOT_A_BACKEND`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
   * @throws RangeError `ERR_INVALID_OPTION`, `ERR_SKIP_INPUT_SIZE`, `ERR_PARAMS_TOO_LARGE`
   */
  constructor(
    backend: Backend,
    rnnMode: CellMode,
    options: LSTMOptions & DescriptorOptions,
    optionNames: readonly string[],
  ) {
    super()
    checkModelArguments(new.target.name, backend, rnnMode, options, optionNames)
    this.descriptor = createRnnDescriptor({ ...options, cellMode: rnnMode })
    this.#backend = backend
    this.#rnn = backend.rnn(this.descriptor)
    // TensorFlow code passes unbound methods: RNNParamsSaveable(lstm.paramsToCanonical, …).
    this.paramsToCanonical = this.paramsToCanonical.bind(this)
    this.canonicalToParams = this.canonicalToParams.bind(this)
    this.paramsSize = this.paramsSize.bind(this)
    this.createParams = this.createParams.bind(this)
    this.createSlot = this.createSlot.bind(this)
    this.stateShape = this.stateShape.bind(this)
    this.dropoutState = this.dropoutState.bind(this)
    this.restoreDropoutState = this.restoreDropoutState.bind(this)
    this.stream = this.stream.bind(this)
    this.run = this.run.bind(this)
  }

  get backend(): Backend {
    return this.#backend
  }

  get rnnMode(): CellMode {
    return this.descriptor.cellMode
  }

  get numLayers(): number {
    return this.descriptor.numLayers
  }

  get numUnits(): number {
    return this.descriptor.numUnits
  }

  get inputSize(): number {
    return this.descriptor.inputSize
  }

  /** Resolved: never `auto_select`. */
  get inputMode(): RnnDescriptor['inputMode'] {
    return this.descriptor.inputMode
  }

  get direction(): RnnDescriptor['direction'] {
    return this.descriptor.direction
  }

  /** D */
  get numDirs(): 1 | 2 {
    return numDirections(this.descriptor)
  }

  /** Shapes of the canonical weights, in canonical order; [H,0] where skip_input has no matrix. */
  get canonicalWeightShapes(): readonly (readonly number[])[] {
    return paramRegions(this.descriptor).weights.map(({ shape }) => shape)
  }

  /** Shapes of the canonical biases, in canonical order. */
  get canonicalBiasShapes(): readonly (readonly number[])[] {
    return paramRegions(this.descriptor).biases.map(({ shape }) => shape)
  }

  /** Shape of inputH and outputH for a batch of B rows: [L·D,B,P or H]. */
  stateShape(batch: number): readonly [number, number, number] {
    return [numPseudoLayers(this.descriptor), batch, hiddenColumns(this.descriptor)]
  }

  /** Number of elements in this executor's opaque buffer. */
  paramsSize(): number {
    return this.#rnn.paramsSize
  }

  /**
   * A new variable of opaque parameters, filled by the initializers.
   *
   * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_NOT_LSTM` for a forgetBias of another cell,
   *   `ERR_INVALID_OPTION` for an initializer beside `canonical`; the errors of {@link canonicalToParams}
   */
  createParams(options: CreateParamsOptions = {}): Variable<Cell> {
    checkCreateParamsOptions(options, this.rnnMode)
    const { dtype } = this.#backend
    const { array } = DTYPES[dtype]
    const allocate = (length: number): FloatArray => new array(length)
    const canonical =
      options.canonical === undefined
        ? initialCanonical(paramRegions(this.descriptor), options, allocate)
        : { weights: allOfDtype(dtype, options.canonical.weights), biases: allOfDtype(dtype, options.canonical.biases) }
    return new Variable(this.#backend, this.#rnn.canonicalToParams(canonical), options.name ?? DEFAULT_NAME)
  }

  /** A variable of zeros in this model's opaque layout: an optimizer's slot, or a gradient to accumulate into. */
  createSlot(name: string): Variable<Cell> {
    const slot = this.#backend.zeros([this.#rnn.paramsSize], { layout: layoutKey(this.descriptor) })
    return new Variable(this.#backend, slot, name)
  }

  /**
   * Runs whole sequences, in one form for the four models: an inference, or on a tape, which trains.
   *
   * @param input [T,B,I]
   * @returns `output` [T,B,D·H], zero past each row's length, and `state` at each row's last valid step: h and, of an LSTM, c
   * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_NO_CELL_STATE` for a c of another cell, `ERR_TENSOR_DISPOSED`,
   *   `ERR_SECOND_ORDER` for a value of another tape; TypeError `ERR_DTYPE`, `ERR_UNKNOWN_OPTION`, `ERR_NOT_AWAITED`
   */
  // Parameters of any cell, so that a union of models can be run; the executor refuses another network's.
  run(params: Params, input: TensorLike, options?: RunOptions): Promise<RunResult<Cell>>
  run(
    t: GradientTape,
    params: Params | Value,
    input: Operand,
    options?: RecordedRunOptions,
  ): Promise<RecordedRunResult<Cell>>
  async run(...given: readonly unknown[]): Promise<unknown> {
    const [t, ...rest] = given
    if (isTapeHandle(t)) {
      const [params, input, options = {}] = rest as [unknown, Operand, RecordedRunOptions?]
      return await recordedRun(t, this.#rnn, params, input, options)
    }
    const [params, input, options = {}] = given as [Params, TensorLike, RunOptions?]
    if (isVariable(input)) {
      const message =
        'Cannot run a network as its parameters come before its input, run(params, x): current second is a Variable'
      throw codedTypeError('ERR_NOT_A_TENSOR', message, { argument: 'input' })
    }
    const { state = null, lengths = null, signal } = checkOptions('run a network', options, RUN_OPTIONS)
    const { h = null, c = null } = state === null ? {} : checkOptions('run a network', state, STATE_OPTIONS)
    const { output, outputH, outputC } = await this.forward(input, h, c, params, {
      ...{ isTraining: false, sequenceLengths: lengths, signal },
    })
    return { output, state: { h: outputH, ...(outputC !== undefined && { c: outputC }) } }
  }

  /**
   * The canonical tensors of opaque parameters (or of their gradient or an optimizer's slot), as host copies.
   *
   * @param selection numbers of the tensors to convert, the weights from 0 and then the biases; the others come without
   *   elements, of shape [0]. Do not change `params` before the promise settles. Default all.
   * @throws RangeError `ERR_SHAPE`, `ERR_OTHER_LAYOUT`, `ERR_TENSOR_DISPOSED`; TypeError `ERR_INVALID_ARGUMENT`
   */
  async paramsToCanonical(params: Params<Cell>, selection?: ReadonlySet<number>): Promise<ModelCanonicalParams> {
    const { weights, biases } = await this.#rnn.paramsToCanonical(paramsTensor(params), selection)
    return { weights, biases, descriptor: this.descriptor }
  }

  /**
   * A new opaque tensor from canonical tensors; shapes are compared by element count, as TensorFlow does.
   *
   * @throws RangeError `ERR_CANONICAL_COUNT`, `ERR_CANONICAL_SIZE`; TypeError `ERR_CANONICAL_DTYPE`
   */
  async canonicalToParams(
    weights: CanonicalParams['weights'],
    biases: CanonicalParams['biases'],
  ): Promise<BackendTensor> {
    return this.#rnn.canonicalToParams({ weights, biases })
  }

  /**
   * Opens streams that carry their state from step to step: inference of a unidirectional model, `batch` independent
   * streams at once, states at zero. Every step reads the parameters and uses the model: dispose the
   * stream first.
   *
   * @throws RangeError `ERR_BIDIRECTIONAL_STREAM`, `ERR_INVALID_OPTION`
   */
  stream(params: Params<Cell>, options: StreamOptions = {}): Stream {
    return openStream(this.#backend, this.#rnn, paramsTensor(params), options)
  }

  /**
   * Opens a pool of streams that share batched steps: all streams with input at the end of a turn of the event loop share one step.
   * For servers of many streams; every round reads the parameters and uses the model: dispose the pool first.
   *
   * @throws RangeError `ERR_BIDIRECTIONAL_STREAM`, `ERR_INVALID_OPTION`; TypeError `ERR_UNKNOWN_OPTION`
   */
  streamPool(params: Params<Cell>, options: StreamPoolOptions = {}): StreamPool {
    return openStreamPool(this.#backend, this.#rnn, paramsTensor(params), options)
  }

  /**
   * Copies parameters to memory that all threads of the process read. Send the handle by `postMessage` or `workerData` and
   * open it there by {@link sharedParams}, as often as there are threads.
   *
   * Rejects with RangeError `ERR_SHAPE`, `ERR_OTHER_LAYOUT`, `ERR_TENSOR_DISPOSED`, `ERR_OUT_OF_MEMORY`.
   */
  shareParams(params: Params<Cell>): Promise<SharedParams> {
    return shareParams(this.#paramsOwner(), paramsTensor(params), paramsName(params))
  }

  /**
   * The parameters of a handle, without a copy: a read-only variable, which refuses to be assigned or trained with
   * `ERR_SHARED_TENSOR`. `cudnn` computes in device memory and uploads a copy, which may be written.
   *
   * @throws TypeError `ERR_SHARED_PARAMS` for anything but a handle
   * @throws RangeError `ERR_SHARED_PARAMS` for a handle of another executor or dtype, `ERR_OTHER_LAYOUT` of another network
   */
  sharedParams(handle: SharedParams): Variable<Cell> {
    return sharedVariable(this.#paramsOwner(), handle)
  }

  /** State of the dropout generator; restored, the next training call draws the same masks. */
  dropoutState(): Promise<Uint8Array> {
    return this.#rnn.dropoutState()
  }

  restoreDropoutState(state: Uint8Array): void {
    this.#rnn.restoreDropoutState(state)
  }

  /** Releases the executor's preparation; variables and tapes stay valid. */
  dispose(): void {
    this.#rnn.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected override summary(): Summary {
    const note = this.inputMode === 'skip_input' ? NO_INPUT_MATRICES : undefined
    return { kind: this.constructor.name, network: layoutKey(this.descriptor), note, backend: this.#backend.name }
  }

  #paramsOwner(): ParamsOwner {
    return { backend: this.#backend, descriptor: this.descriptor, paramsSize: this.#rnn.paramsSize }
  }

  /** Throws or rejects, because its callers are asynchronous: another promise takes a tenth of a microsecond. */
  protected forward(
    input: TensorLike,
    inputH: TensorLike | null,
    inputC: TensorLike | null,
    params: Params,
    options: CallOptions<boolean>,
  ): Promise<RnnForwardResult> {
    if (typeof options === 'boolean') {
      throw codedTypeError(
        'ERR_INVALID_OPTION_TYPE',
        `Cannot run forward as its options are one object: current value is ${options}. Write { isTraining: ${options} }`,
        { value: options },
      )
    }
    const given = checkOptions('run forward', options, CALL_OPTIONS)
    const { isTraining = true, signal } = given
    if (signal?.aborted) throw signal.reason
    const running = this.#rnn.forward({
      input,
      inputH,
      inputC,
      params: paramsTensor(params),
      sequenceLengths: given.sequenceLengths ?? null,
      training: isTraining,
    })
    return inTurn(signal ? unlessAborted(running, signal) : running)
  }

  protected backward(
    tape: Tape | undefined,
    gradients: LSTMOutputGradients,
    names: readonly (keyof LSTMOutputGradients)[],
  ): Promise<RnnInputGradients> {
    checkOptionNames('run backward', gradients, names)
    // The executor refuses undefined with `ERR_NO_TAPE`.
    return this.#rnn.backward(tape as Tape, gradients)
  }
}

/** The result of a forward; disposes it, and throws the reason, if `signal` was aborted meanwhile. */
async function unlessAborted(running: Promise<RnnForwardResult>, signal: AbortSignalLike): Promise<RnnForwardResult> {
  const result = await running
  if (!signal.aborted) return result
  for (const made of Object.values(result)) made?.dispose()
  throw signal.reason
}

/** Floating-point tensors of `dtype`; anything else is left to the check of canonical tensors. */
function allOfDtype(dtype: FloatDType, tensors: readonly Tensor<FloatArray>[]): readonly Tensor<FloatArray>[] {
  if (!Array.isArray(tensors)) return tensors
  return tensors.map((tensor) => (isFloatArray(tensor?.data) ? ofDtype(dtype, tensor) : tensor))
}
