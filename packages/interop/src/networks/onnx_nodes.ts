import {
  CELL_ACTIVATIONS,
  type CellActivation,
  type CellActivationName,
  type CellMode,
  createRnnDescriptor,
  type FloatArray,
  numDirections,
  numGates,
  onnxToCanonical,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { madeIn } from '@cudnn-rnn/canonical/rules'
import { corrupt, WeightFileError } from '../errors.js'
import type { OnnxAttribute, OnnxNodeMessage } from '../files/onnx_messages.js'
import type { OnnxModel } from '../files/onnx_model.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import { cellsOf, type OtherActivations } from './imported_cells.js'
import type {
  FixedInputs,
  ImportedCell,
  ImportedNetwork,
  Interpretation,
  InterpretationOptions,
} from './interpretation.js'
import { sizesInWords } from './made_interpretations.js'
import { OnnxFolder } from './onnx_folder.js'
import { isRecurrent, looksRecurrent } from './onnx_operators.js'
import { type OnnxScope, visitNodes } from './onnx_scopes.js'
import type { SharedParameters } from './shared_parameters.js'

/** Inputs of the three operators by place; GRU and RNN end earlier. Source: onnx/defs/rnn/defs.cc. */
const INPUTS = ['X', 'W', 'R', 'B', 'sequence_lens', 'initial_h', 'initial_c', 'P'] as const

type InputName = (typeof INPUTS)[number]

/** Names of inputs in a call of a model. */
const CALL_INPUTS: Readonly<Partial<Record<InputName, string>>> = {
  initial_h: 'inputH',
  initial_c: 'inputC',
  sequence_lens: 'sequenceLengths',
}

const STATE_INPUTS = ['initial_h', 'initial_c'] as const

/** The default activations of a direction by operator: of the gates, of the candidate, and of the new cell state. */
const ACTIVATIONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    LSTM: ['Sigmoid', 'Tanh', 'Tanh'],
    GRU: ['Sigmoid', 'Tanh'],
    RNN: ['Tanh'],
  }),
)

/** Inputs that are weights: without one of them a node is another function. */
const WEIGHTS = ['W', 'R', 'B', 'P'] as const

/**
 * The recurrent nodes of an ONNX model, a function's once for each call, with everything that they take as constants,
 * from any nodes; the option `inputs` replaces values of the graph. A node with other activations than a model's, with
 * peepholes, with `clip`, or a GRU with `linear_before_reset = 0`, becomes a cell. One that cannot be read is refused.
 *
 * @param sharedOf the tensor that is read in place of one of the file.
 */
export async function onnxInterpretations(
  { path, onnx }: WeightFile,
  options: InterpretationOptions,
  sharedOf: (tensor: StoredTensor) => StoredTensor,
): Promise<Interpretation[]> {
  if (onnx === undefined) return []
  const given = new Map<string, StoredTensor>()
  for (const [name, { data, shape }] of Object.entries(options.inputs ?? {})) {
    const dtype = data instanceof Float64Array ? 'float64' : 'float32'
    given.set(name, { name, shape, dtype, read: async () => data })
  }
  const folder = new OnnxFolder(path, onnx, given, sharedOf)
  const model: Model = { path, onnx, folder, networks: new Map(), reads: new Map(), descriptors: new Map() }
  const found: RecurrentNode[] = []
  visitNodes(path, onnx, (scope, node, isCall) => {
    if (isRecurrent(node) || (looksRecurrent(node) && !isCall)) found.push(new RecurrentNode(model, scope, node))
  })
  const interpretations: Interpretation[] = []
  for (const own of found) interpretations.push(await interpretationOf(own))
  return interpretations
}

interface Model {
  readonly path: string
  readonly onnx: OnnxModel
  readonly folder: OnnxFolder
  /** Networks of nodes without attributes by scope, operator and inputs: all but the name is shared. */
  readonly networks: Map<OnnxScope, Map<string, ImportedNetwork>>
  /** By scope and inputs. */
  readonly reads: Map<OnnxScope, Map<string, Read>>
  /** By sizes: nodes, of which a graph may have thousands, share them. */
  readonly descriptors: Map<string, { readonly descriptor: RnnDescriptor; readonly summary: string }>
}

class RecurrentNode {
  readonly model: Model
  readonly scope: OnnxScope
  readonly node: OnnxNodeMessage
  /** With the names of the calls around it. */
  readonly name: string

  constructor(model: Model, scope: OnnxScope, node: OnnxNodeMessage) {
    this.model = model
    this.scope = scope
    this.node = node
    this.name = `${scope.prefix}${shownName(node)}`
  }

  attribute(name: string): OnnxAttribute | undefined {
    return this.scope.attribute(this.node, name)
  }

  async floats(name: string): Promise<number[]> {
    const list = this.attribute(name)
    return list === undefined ? [] : Array.from((await this.model.onnx.listsOf(list)).floats)
  }

  get direction(): string {
    return this.attribute('direction')?.s ?? 'forward'
  }

  /** Its X and Y are [B,T,·], and its states [B,D,H]. */
  get isBatchMajor(): boolean {
    return this.attribute('layout')?.i === 1
  }

  get cellMode(): CellMode {
    if (this.node.opType === 'LSTM') return 'lstm'
    if (this.node.opType === 'GRU') return 'gru'
    return this.attribute('activations')?.strings[0]?.toLowerCase() === 'relu' ? 'rnn_relu' : 'rnn_tanh'
  }

  corrupt(rule: string): WeightFileError {
    return corrupt(this.model.path, rule)
  }

  otherFunction(rule: string, value?: string | number): WeightFileError {
    const current = value === undefined ? '' : `: current value is ${value}`
    const message = `Cannot import the node ${this.name} as ${rule}${current}`
    return new WeightFileError('ERR_WEIGHTS_OTHER_FUNCTION', message, { path: this.model.path })
  }
}

/** The interpretation of a node. It reads no weights: they are read when its result is requested. */
async function interpretationOf(own: RecurrentNode): Promise<Interpretation> {
  const { node, name, cellMode } = own
  const refused = (error: WeightFileError): Interpretation => ({
    name,
    convention: 'onnx',
    cellMode: 'lstm',
    summary: `onnx ${node.opType} ${name}`,
    tensors: [],
    result: () => Promise.reject(error),
  })
  if (!isRecurrent(node)) {
    const rule = 'its operator must be LSTM, GRU or RNN of ONNX, computed in floating point'
    const operator = node.domain === '' ? node.opType : `${node.opType} of ${node.domain}`
    const advice = 'Import the model from which it was converted or quantized'
    return refused(own.otherFunction(rule, `${operator}. ${advice}`))
  }
  const read = await inputsOf(own)
  if (read instanceof WeightFileError) return refused(read)
  const { named, sources } = read
  const [W, R] = [named.get('W'), named.get('R')]
  if (W === undefined || R === undefined) return refused(own.corrupt(`the node ${name} must have the inputs W and R`))
  const { descriptor, summary } = sizesOf(own, W.shape, R.shape)
  return {
    name,
    convention: 'onnx',
    cellMode,
    summary,
    tensors: [],
    alsoUses: sources,
    result: (shared) => networkOf(own, descriptor, read, shared),
  }
}

/** The constants of a node; nodes of the same inputs, of which a graph may have thousands, share them. */
interface Read {
  readonly named: ReadonlyMap<InputName, StoredTensor>
  /** Tensors of the file. */
  readonly sources: readonly StoredTensor[]
  readonly notes: readonly string[]
}

/** The constants of a node, or why it is refused. */
async function inputsOf(own: RecurrentNode): Promise<Read | WeightFileError> {
  const { scope, node } = own
  const { folder, reads } = own.model
  const inScope = madeIn(reads, scope, () => new Map())
  const key = node.inputs.slice(1).join('\0')
  const known = inScope.get(key)
  if (known !== undefined) return known
  const named = new Map<InputName, StoredTensor>()
  const sources = new Set<StoredTensor>()
  const notes: string[] = []
  for (const [index, input] of INPUTS.entries()) {
    const value = node.inputs[index] ?? ''
    if (input === 'X' || value === '') continue
    const folded = await folder.fold(scope, value)
    const isWeight = WEIGHTS.some((one) => one === input)
    if ('why' in folded || folded.shape === undefined) {
      const why = 'why' in folded ? folded.why : 'its shape follows from an input of the graph'
      if (isWeight) {
        const rule = `its ${input} must be a constant, or be passed by the option inputs`
        return own.otherFunction(rule, `the value ${value}: ${why}`)
      }
      const isZero = 'fill' in folded && folded.fill === 0 && input !== 'sequence_lens'
      if (!isZero) notes.push(`Its ${input} is the value ${value} of the graph: pass it as ${CALL_INPUTS[input]}.`)
      continue
    }
    for (const source of folder.sources(folded)) sources.add(source)
    const integers = async () => (await folder.integers(folded)) ?? folder.reader(folded)()
    named.set(input, { name: value, shape: folded.shape, dtype: folded.type, read: folder.reader(folded), integers })
  }
  const read = { named, sources: [...sources], notes }
  inScope.set(key, read)
  return read
}

/** The name of a node, or of its first output, or of its operation. */
function shownName({ name, outputs, opType }: OnnxNodeMessage): string {
  return [name, ...outputs].find((text) => text !== '') ?? opType
}

async function networkOf(
  own: RecurrentNode,
  descriptor: RnnDescriptor,
  { named: given, sources, notes }: Read,
  shared: SharedParameters,
): Promise<readonly (ImportedNetwork | ImportedCell)[]> {
  const { node, name, isBatchMajor } = own
  const key = node.attributes.size === 0 ? [node.opType, ...node.inputs].join('\0') : undefined
  const inScope = madeIn(own.model.networks, own.scope, () => new Map())
  const known = inScope.get(key ?? '')
  if (known !== undefined) return [{ ...known, name }]
  const activations = await activationsOf(own)
  const named = new Map(given)
  const weights = new Map([...named].filter(([input]) => input === 'W' || input === 'R' || input === 'B'))
  checkShapes(own, descriptor, named)
  for (const input of STATE_INPUTS) {
    if ((await named.get(input)?.read())?.every((element) => element === 0) === true) named.delete(input)
  }
  const inputs = await fixedInputs(own, named)
  const common = {
    name,
    convention: 'onnx',
    reverse: own.direction === 'reverse',
    inputs,
    tensorNames: sources.map((tensor) => tensor.name),
    notes: [...(isBatchMajor ? ['The node is batch-major (layout 1): its X and Y are [B,T,·].'] : []), ...notes],
  } as const
  // The layout is the same for both forms of the GRU; the form decides between model and cell.
  const canonical = await shared.canonical(descriptor, weights, (tensors) => {
    return onnxToCanonical(descriptor, [tensors], { linearBeforeReset: 1 })
  })
  const peepholes = await named.get('P')?.read()
  const differences = {
    // Any other number is true in ONNX Runtime.
    resetBefore: descriptor.cellMode === 'gru' && (own.attribute('linear_before_reset')?.i ?? 0) === 0,
    peepholes: peepholes?.some((value) => value !== 0) === true ? peepholes : undefined,
    clip: clipOf(own),
    activations: activations.every((each) => Object.keys(each).length === 0) ? undefined : activations,
  }
  const isNetwork = Object.values(differences).every((difference) => difference === undefined || difference === false)
  if (isNetwork) {
    const network = { ...common, descriptor, canonical }
    if (key !== undefined) inScope.set(key, network)
    return [network]
  }
  return cellsOf(descriptor, canonical, differences, common)
}

/** The bound of the inputs of activations, if any; models have none (their cellClip bounds the cell state). */
function clipOf(own: RecurrentNode): number | undefined {
  const attribute = own.attribute('clip')
  const clip = attribute === undefined ? Number.POSITIVE_INFINITY : (attribute.f ?? 0)
  // With 0, ONNX Runtime makes zeros of an RNN, and refuses the others.
  if (!(clip > 0)) throw own.otherFunction('clip must be a number > 0, or absent', clip)
  return clip === Number.POSITIVE_INFINITY ? undefined : clip
}

const DIRECTIONS = ['forward', 'reverse', 'bidirectional']

/** The descriptor of a node by the shapes of its matrices, and its sizes in words. */
function sizesOf(own: RecurrentNode, W: readonly number[], R: readonly number[]) {
  const { model, node, cellMode, direction: way } = own
  return madeIn(model.descriptors, [cellMode, way, W, R].join('\0'), () => {
    const [, , inputSize] = W
    const [, , numUnits] = R
    if (W.length !== 3 || R.length !== 3 || !inputSize || !numUnits)
      throw own.corrupt(`W [${W}] and R [${R}] of ${node.opType} must be 3-D, with elements`)
    if (!DIRECTIONS.includes(way)) {
      throw own.corrupt(`the direction of ${shownName(node)} must be one of ${DIRECTIONS.join(', ')}: ${way}`)
    }
    const direction = way === 'bidirectional' ? 'bidirectional' : 'unidirectional'
    const sizes = { cellMode, numLayers: 1, numUnits, inputSize, direction, inputMode: 'linear_input' } as const
    const descriptor = createRnnDescriptor(sizes)
    return { descriptor, summary: sizesInWords('onnx', descriptor) }
  })
}

/**
 * The activations of each direction that are not the model's. Refuses attributes that make a node another function than the
 * models and cells compute. Parameters are in the order of the activations that have them, as ONNX Runtime takes them.
 */
async function activationsOf(own: RecurrentNode): Promise<OtherActivations[]> {
  const { opType } = own.node
  const inputForget = own.attribute('input_forget')?.i ?? 0
  if (inputForget !== 0) throw own.otherFunction('input_forget must be 0', inputForget)
  const layout = own.attribute('layout')?.i ?? 0
  if (layout !== 0 && layout !== 1) throw own.otherFunction('layout must be 0 or 1', layout)
  const defaults = ACTIVATIONS.get(opType) ?? []
  const asked = own.attribute('activations')?.strings ?? []
  const directions = own.direction === 'bidirectional' ? 2 : 1
  // A list for one direction stands for both.
  const names = Array.from({ length: directions * defaults.length }, (_, place) => {
    return asked[place] ?? asked[place % defaults.length] ?? defaults[place % defaults.length] ?? ''
  })
  const [alphas, betas] = [await own.floats('activation_alpha'), await own.floats('activation_beta')]
  const functions = names.map((given): CellActivation => {
    const activation = ONNX_ACTIVATIONS.get(given.toLowerCase())
    if (activation === undefined) {
      const rule = `its activations must be some of ${[...ONNX_ACTIVATIONS.keys()].join(', ')}, as no cell computes others`
      throw own.otherFunction(rule, names.join(', '))
    }
    const [alpha, beta]: readonly number[] = CELL_ACTIVATIONS[activation]
    if (alpha === undefined) return activation
    const parameters = { alpha: alphas.shift(), ...(beta !== undefined && { beta: betas.shift() }) }
    if (WITHOUT_DEFAULTS.has(activation) && Object.values(parameters).includes(undefined)) {
      const rule = `activation_alpha and activation_beta of ${given} must be stated, as runtimes differ in the defaults`
      throw own.otherFunction(rule, names.join(', '))
    }
    return {
      name: activation,
      alpha: parameters.alpha ?? alpha,
      ...(beta !== undefined && { beta: parameters.beta ?? beta }),
    }
  })
  const usual = own.cellMode === 'rnn_relu' ? 'relu' : 'tanh'
  return Array.from({ length: directions }, (_, side) => {
    const [first, ...rest] = functions.slice(side * defaults.length, (side + 1) * defaults.length)
    if (first === undefined) return {}
    if (opType === 'RNN') return first === usual ? {} : { activation: first }
    const [candidate = 'tanh', state = candidate] = rest
    return {
      ...(first !== 'sigmoid' && { recurrentActivation: first }),
      ...(candidate !== 'tanh' && { activation: candidate }),
      // The cell's default is the activation of the candidate.
      ...(JSON.stringify(state) !== JSON.stringify(candidate) && { stateActivation: state }),
    }
  })
}

/** Activations whose parameters have no default in the standard. */
const WITHOUT_DEFAULTS: ReadonlySet<CellActivationName> = new Set([
  'affine',
  'scaled_tanh',
  'thresholded_relu',
] as const)

/** Activations by their names in ONNX in lower case. */
const ONNX_ACTIVATIONS: ReadonlyMap<string, CellActivationName> = new Map<string, CellActivationName>([
  ...(['tanh', 'sigmoid', 'relu', 'elu', 'softsign', 'softplus', 'affine'] as const).map(
    (name) => [name, name] as const,
  ),
  ['hardsigmoid', 'hard_sigmoid'],
  ['leakyrelu', 'leaky_relu'],
  ['scaledtanh', 'scaled_tanh'],
  ['thresholdedrelu', 'thresholded_relu'],
])

/** Throws unless the constants of a node have the shapes of onnx/defs/rnn/defs.cc, and equal numbers of rows. */
function checkShapes(own: RecurrentNode, descriptor: RnnDescriptor, named: ReadonlyMap<InputName, StoredTensor>): void {
  const { numUnits: H, inputSize: I } = descriptor
  const [D, columns] = [numDirections(descriptor), numGates(descriptor) * H]
  const states = STATE_INPUTS.flatMap((input) => named.get(input) ?? [])
  // Any of these gives the number of rows, with which the others are compared.
  const B = named.get('sequence_lens')?.shape[0] ?? states[0]?.shape[own.isBatchMajor ? 0 : 1] ?? 0
  const state = own.isBatchMajor ? [B, D, H] : [D, B, H]
  const expected: Readonly<Partial<Record<InputName, readonly number[]>>> = {
    ...{ W: [D, columns, I], R: [D, columns, H], B: [D, 2 * columns], P: [D, 3 * H] },
    ...{ sequence_lens: [B], initial_h: state, initial_c: state },
  }
  for (const [input, { shape }] of named) {
    const right = expected[input]
    if (right === undefined || String(right) === String(shape)) continue
    throw own.corrupt(`${input} of the node ${own.name} must be [${right}]: its shape is [${shape}]`)
  }
}

/** Initial states as [L·D,B,H] and lengths, if they are constants. */
async function fixedInputs(own: RecurrentNode, named: ReadonlyMap<InputName, StoredTensor>): Promise<FixedInputs> {
  const state = async (input: 'initial_h' | 'initial_c'): Promise<Tensor<FloatArray> | undefined> => {
    const stored = named.get(input)
    if (stored === undefined) return undefined
    const tensor = { data: await stored.read(), shape: stored.shape }
    return own.isBatchMajor ? exchangeFirstAxes(tensor) : tensor
  }
  const [initialH, initialC] = [await state('initial_h'), await state('initial_c')]
  const stored = named.get('sequence_lens')
  // The option `inputs` has arrays of floating-point numbers for integers too.
  const sequenceLengths = await (stored?.integers?.() ?? stored?.read())
  const wrong = sequenceLengths?.find((length) => !Number.isSafeInteger(length) || length < 0)
  if (wrong !== undefined) throw own.corrupt(`sequence_lens of the node ${own.name} must be lengths: one is ${wrong}`)
  if (sequenceLengths?.includes(0) === true && (initialH ?? initialC) !== undefined) {
    throw own.otherFunction(
      'its constant sequence_lens must not be 0 beside initial states: such rows end in zeros in ONNX Runtime, and in their initial states here',
    )
  }
  return {
    ...(initialH !== undefined && { initialH }),
    ...(initialC !== undefined && { initialC }),
    ...(sequenceLengths !== undefined && { sequenceLengths: [...sequenceLengths] }),
  }
}

/** [B,D,H] as [D,B,H]. */
function exchangeFirstAxes({ data, shape }: Tensor<FloatArray>): Tensor<FloatArray> {
  const [B, D, H] = shape as [number, number, number]
  const exchanged = data.slice()
  for (let b = 0; b < B; b++) {
    for (let d = 0; d < D; d++) exchanged.set(data.subarray((b * D + d) * H, (b * D + d + 1) * H), (d * B + b) * H)
  }
  return { data: exchanged, shape: [D, B, H] }
}
