import { CELL_MODES, type CellMode, type RnnDescriptor } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkedElsewhere,
  checkIsObject,
  checkOptions,
  fields,
  FLAG,
  FUNCTION,
  integerFrom,
  keyOf,
  listOf,
  OBJECT,
  oneOf,
  optional,
  type OptionsOf,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import {
  BasicRNNCell,
  CudnnCompatibleGRUCell,
  dynamicRnn,
  type FloatTensor,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMCell,
} from '@cudnn-rnn/cells'
import type { ImportedCell, ImportedNetwork } from '@cudnn-rnn/interop'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, type Variable } from '@cudnn-rnn/models'
import { type Backend, type BackendTensor, DTYPES, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { checkIsTensor, checkSequenceLengths, checkShape, ofDtype } from '@cudnn-rnn/ops/executor'

// Checked beside the network, whose sizes they must have.
const RUN_OPTIONS = {
  /** [L·D,B,P or H] */
  inputH: checkedElsewhere<TensorLike | null | undefined>(),
  /** [L·D,B,H], of an LSTM. */
  inputC: checkedElsewhere<TensorLike | null | undefined>(),
  /** One length in 0..T per batch row. */
  sequenceLengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
}

/** Optional inputs of a run. Defaults: the values that the file fixes, otherwise zeros and all steps. */
export interface NetworkRunOptions extends OptionsOf<typeof RUN_OPTIONS> {}

type NetworkRunResult = {
  /** [T,B,D·H], zero past each row's length. */
  readonly output: FloatTensor
  /** [L·D,B,P or H], the state after the step that was read last. */
  readonly outputH: FloatTensor
  /** [L·D,B,H], of an LSTM. */
  readonly outputC?: FloatTensor
}

/** Runs a network as the framework of its file does: direction, initial states and lengths of the file included. */
type Run = (input: TensorLike, options?: NetworkRunOptions) => Promise<NetworkRunResult>

type CudnnModel = CudnnLSTM | CudnnGRU | CudnnRNNRelu | CudnnRNNTanh

/** An imported network as a model with its parameters. */
export interface ModelFromNetwork<Model extends CudnnModel = CudnnModel> {
  /**
   * `call` of a CudnnLSTM takes `inputC`, the others' does not: name the class to {@link modelFromNetwork} for its
   * type, or use `run`, which is the same for all cells.
   */
  readonly model: Model
  readonly params: Variable
  /** True if the network reads a sequence from its end: `run` turns it around, `call` of the model does not. */
  readonly reverse: boolean
  /** input [T,B,I] */
  readonly run: Run
}

/** An imported network that only one of TensorFlow's cells computes, as that cell with its variables. */
export interface CellFromNetwork {
  readonly cell: LSTMBlockCell | LSTMCell | GRUBlockCell | CudnnCompatibleGRUCell | BasicRNNCell
  /** True if the network reads a sequence from its end: `run` turns it around, the cell does not. */
  readonly reverse: boolean
  /** input [T,B,I] */
  readonly run: Run
}

/** A class such as {@link CudnnLSTM}. */
type ModelClass<Model extends CudnnModel> = new (backend: Backend, options: RnnDescriptor) => Model

const MODELS = {
  lstm: CudnnLSTM,
  gru: CudnnGRU,
  rnn_relu: CudnnRNNRelu,
  rnn_tanh: CudnnRNNTanh,
} as const satisfies Readonly<Record<CellMode, unknown>>

/**
 * The model of an imported network with its parameters, or the cell of one that no model computes.
 *
 * Weights become the executor's dtype. Dispose `params` and the model after use; `inputs` and `reverse` of the network are
 * honored by `run`, which works on whole sequences in host memory.
 *
 * @param network the first of `networks`, say: undefined is refused like any other value
 * @param modelClass of the model, which is then of that type. Default: the class of the network's cell.
 * @throws TypeError `ERR_NOT_A_BACKEND`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_OTHER_CELL` if `modelClass` computes another cell; the errors of
 *   models and cells
 * @example
 * ```ts
 * import { CudnnLSTM, exportWeights, importWeights, modelFromNetwork, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('auto')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 3 })
 * const canonical = await lstm.paramsToCanonical(lstm.createParams({ seed: 1 }))
 * const { descriptor } = lstm
 * const file = await exportWeights([{ name: 'encoder', descriptor, canonical }], { format: 'safetensors' })
 *
 * const { networks } = await importWeights(file)
 * const { model, params } = modelFromNetwork(backend, networks[0], CudnnLSTM)
 * const { output } = await model.call({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }, null, null, params)
 * console.log(output.shape) // [ 5, 2, 4 ]
 * const stream = model.stream(params)
 * console.log(stream.stepSync({ data: Float32Array.of(1, 2, 3), shape: [1, 3] }).shape) // [ 1, 4 ]
 * backend.dispose()
 * ```
 */
export function modelFromNetwork<Model extends CudnnModel = CudnnModel>(
  backend: Backend,
  network: ImportedNetwork | undefined,
  modelClass?: ModelClass<Model>,
): ModelFromNetwork<Model>
export function modelFromNetwork(backend: Backend, network: ImportedCell | undefined): CellFromNetwork
export function modelFromNetwork(
  backend: Backend,
  network: ImportedNetwork | ImportedCell | undefined,
): ModelFromNetwork | CellFromNetwork
export function modelFromNetwork(
  backend: Backend,
  network: ImportedNetwork | ImportedCell | undefined,
  modelClass?: ModelClass<CudnnModel>,
): ModelFromNetwork | CellFromNetwork {
  checkIsObject('make a model', 'network', network)
  checkArguments('make a model', { modelClass }, { modelClass: optional(MODEL_CLASS) })
  return 'cell' in network ? cellFrom(backend, network) : modelFrom(backend, network, modelClass)
}

const MODEL_CLASS = where(FUNCTION, 'one of the classes CudnnLSTM, CudnnGRU, CudnnRNNRelu, CudnnRNNTanh', (given) =>
  Object.values<unknown>(MODELS).includes(given),
)
const BACKEND = fields({ ops: OBJECT, dtype: oneOf(['float32', 'float64']) }, 'what openBackend() resolves to')
const INPUTS = { name: TEXT, inputs: OBJECT, reverse: optional(FLAG), outputReversed: optional(FLAG) }
const TENSORS = listOf(fields({ data: OBJECT, shape: listOf(integerFrom(0)) }))
const NETWORK = fields({
  ...INPUTS,
  descriptor: fields({ cellMode: keyOf(CELL_MODES) }),
  canonical: fields({ weights: TENSORS, biases: TENSORS }),
})

function modelFrom(
  backend: Backend,
  network: ImportedNetwork,
  modelClass: ModelClass<CudnnModel> | undefined,
): ModelFromNetwork {
  checkArguments('make a model', { backend, network }, { backend: BACKEND, network: NETWORK })
  const { descriptor, canonical, reverse } = network
  const model = new (modelClass ?? MODELS[descriptor.cellMode])(backend, descriptor)
  const params: Variable = model.createParams({
    name: network.name === '' ? undefined : network.name,
    canonical,
  })
  const forward: Forward = async (input, h, c, sequenceLengths) => {
    const { output, state } = await model.run(params, input, { state: { h, c }, lengths: sequenceLengths })
    const outputC = state.c && { outputC: await taken(state.c) }
    return { output: await taken(output), outputH: await taken(state.h), ...outputC }
  }
  return { model, params, reverse, run: runOf(backend, network, forward) }
}

const LSTM_CELLS = { LSTMBlockCell, LSTMCell } as const
const CELLS = { GRUBlockCell, CudnnCompatibleGRUCell, BasicRNNCell } as const

const CELL = fields({
  ...INPUTS,
  cell: oneOf([...Object.keys(LSTM_CELLS), ...Object.keys(CELLS)]),
  numUnits: integerFrom(1),
  options: OBJECT,
  variables: OBJECT,
})

function cellFrom(backend: Backend, network: ImportedCell): CellFromNetwork {
  checkArguments('make a cell', { backend, network }, { backend: BACKEND, network: CELL })
  const { cell: className, numUnits, options, variables, reverse } = network
  const built = { ...options, dtype: backend.dtype } as const
  const own = Object.entries(variables).map(([name, tensor]) => [name, ofDtype(backend.dtype, tensor)] as const)
  const values = Object.fromEntries(own)
  const { array } = DTYPES[backend.dtype]
  // A projected h is narrower than c.
  const stateOf = (given: FloatTensor | null, x: FloatTensor, width: number): FloatTensor => {
    const [, B = 0] = x.shape
    return given === null
      ? { data: new array(B * width), shape: [B, width] }
      : { ...given, shape: given.shape.slice(1) }
  }
  const unroll = (sequenceLength: NetworkRunOptions['sequenceLengths']) =>
    ({ timeMajor: true, training: false, sequenceLength }) as const
  if (className === 'LSTMBlockCell' || className === 'LSTMCell') {
    const cell = new LSTM_CELLS[className](numUnits, built)
    cell.setVariables(values)
    const run = runOf(backend, network, async (x, h, c, lengths) => {
      const { stateSize } = cell
      const initialState = { c: stateOf(c, x, stateSize.c), h: stateOf(h, x, stateSize.h) }
      const { outputs, state } = dynamicRnn(cell, x, { ...unroll(lengths), initialState })
      return { output: outputs, outputH: asLayer(state.h), outputC: asLayer(state.c) }
    })
    return { cell, reverse, run }
  }
  const cell = new CELLS[className](numUnits, built)
  cell.setVariables(values)
  const run = runOf(backend, network, async (x, h, _, lengths) => {
    const { outputs, state } = dynamicRnn(cell, x, { ...unroll(lengths), initialState: stateOf(h, x, cell.stateSize) })
    return { output: outputs, outputH: asLayer(state) }
  })
  return { cell, reverse, run }
}

/** A network that reads a sequence in the given order. */
type Forward = (
  input: FloatTensor,
  h: FloatTensor | null,
  c: FloatTensor | null,
  sequenceLengths: NetworkRunOptions['sequenceLengths'],
) => Promise<NetworkRunResult>

/** Adds the values that the file fixes: initial states, lengths, and the direction. */
function runOf(
  backend: Backend,
  { inputs, reverse, outputReversed }: ImportedNetwork | ImportedCell,
  forward: Forward,
): Run {
  const state = async (given: TensorLike | null | undefined, fixed: FloatTensor | undefined) => {
    if (given !== undefined) return given === null ? null : hostTensor(given)
    return fixed === undefined ? null : ofDtype(backend.dtype, fixed)
  }
  return async (input, options = {}) => {
    const {
      inputH,
      inputC,
      sequenceLengths = inputs.sequenceLengths ?? null,
    } = checkOptions('run a network', options, RUN_OPTIONS)
    const h = await state(inputH, inputs.initialH)
    const c = await state(inputC, inputs.initialC)
    const x = await hostTensor(input)
    if (!reverse) return forward(x, h, c, sequenceLengths)
    checkShape('run a network', 'input', x.shape, ['T', 'B', 'I'])
    const [T = 0, B = 0] = x.shape
    checkSequenceLengths('run a network', sequenceLengths, T, B)
    const result = await forward(reverseRows(x, sequenceLengths), h, c, sequenceLengths)
    const output = reverseRows(result.output, sequenceLengths)
    return { ...result, output: outputReversed === true ? reverseRows(output, null) : output }
  }
}

/** A host copy of a result, which is disposed. */
async function taken(tensor: BackendTensor): Promise<FloatTensor> {
  const { data, shape } = await hostTensor(tensor)
  const copy = { data: data.slice(), shape }
  tensor.dispose()
  return copy
}

async function hostTensor(given: TensorLike): Promise<FloatTensor> {
  const tensor = checkIsTensor('run a network', 'tensor', given)
  return (isBackendTensor(tensor) ? await tensor.read() : tensor) as FloatTensor
}

/** [B,H] as [1,B,H]. */
function asLayer({ data, shape }: FloatTensor): FloatTensor {
  return { data, shape: [1, ...shape] }
}

/**
 * TensorFlow's `reverse_sequence` of [T,B,N]: in each row the steps before its length in reverse, the others where they are.
 *
 * @param lengths one per row; null when every row has T steps.
 */
function reverseRows(
  { data, shape }: FloatTensor,
  lengths: readonly number[] | Int32Array | null | undefined,
): FloatTensor {
  const [T, B, N] = shape as [number, number, number]
  const reversed = data.slice()
  for (let b = 0; b < B; b++) {
    const length = lengths?.[b] ?? T
    for (let t = 0; t < length; t++) {
      const from = ((length - 1 - t) * B + b) * N
      reversed.set(data.subarray(from, from + N), (t * B + b) * N)
    }
  }
  return { data: reversed, shape }
}
