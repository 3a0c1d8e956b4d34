import {
  type CellMode,
  createRnnDescriptor,
  type FloatArray,
  numDirections,
  numGates,
  onnxToCanonical,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { corrupt, WeightFileError } from '../errors.js'
import type { OnnxNodeMessage } from '../files/onnx_messages.js'
import type { StoredTensor, WeightFile } from '../weight_file.js'
import { cellsOf } from './imported_cells.js'
import type {
  FixedInputs,
  ImportedCell,
  ImportedNetwork,
  Interpretation,
  InterpretationOptions,
} from './interpretation.js'
import { isRecurrent, isZero, OnnxStates } from './onnx_states.js'
import type { SharedParameters } from './shared_parameters.js'
import { sizesInWords } from './sizes_in_words.js'

/** Inputs of the three operators by place; GRU and RNN end earlier. Source: onnx/defs/rnn/defs.cc. */
const INPUTS = ['X', 'W', 'R', 'B', 'sequence_lens', 'initial_h', 'initial_c', 'P'] as const

type InputName = (typeof INPUTS)[number]

/** Names of the states in a call. */
const STATES = { initial_h: 'inputH', initial_c: 'inputC' } as const

const STATE_INPUTS = ['initial_h', 'initial_c'] as const

type Activation = 'tanh' | 'relu'

/** An activation that cells have as an option, and the values of the attribute for one direction that stand for it. */
interface NamedActivations {
  readonly activation: Activation
  readonly names: readonly string[]
}

/** The activations that models and cells have, the operator's default first. */
const ACTIVATIONS: Readonly<Record<'LSTM' | 'GRU' | 'RNN', readonly [NamedActivations, ...NamedActivations[]]>> = {
  LSTM: [
    { activation: 'tanh', names: ['Sigmoid', 'Tanh', 'Tanh'] },
    { activation: 'relu', names: ['Sigmoid', 'Relu', 'Relu'] },
  ],
  GRU: [{ activation: 'tanh', names: ['Sigmoid', 'Tanh'] }],
  RNN: [
    { activation: 'tanh', names: ['Tanh'] },
    { activation: 'relu', names: ['Relu'] },
  ],
}

/** The activation that a model has in all directions. */
const OF_MODEL: Readonly<Record<CellMode, Activation>> = {
  lstm: 'tanh',
  gru: 'tanh',
  rnn_tanh: 'tanh',
  rnn_relu: 'relu',
}

/**
 * The recurrent nodes of an ONNX graph whose `W` and `R` are constants of the file or given by the option `inputs`. A node
 * with peepholes, with `clip`, an LSTM of relu, an RNN with other activations in each direction, or a GRU with
 * `linear_before_reset = 0`, becomes a cell; nodes that compute their weights are left alone.
 */
export function onnxInterpretations(file: WeightFile, options: InterpretationOptions): Interpretation[] {
  const constants = new Map<string, StoredTensor>(file.tensors.map((tensor) => [tensor.name, tensor]))
  for (const [name, { data, shape }] of Object.entries(options.inputs ?? {})) {
    constants.set(name, { name, shape, dtype: data.constructor.name, read: async () => data })
  }
  const nodes = file.nodes ?? []
  const small = (file.smallTensors ?? []).map((tensor) => [tensor.name, tensor] as const)
  const states = new OnnxStates(nodes, new Map([...small, ...constants]))
  const graph = { path: file.path, constants, states, networks: new Map() }
  const sizes = new SizesOfNodes(file.path)
  const interpretations: Interpretation[] = []
  for (const node of nodes) {
    const interpretation = isRecurrent(node) ? interpretationOf(graph, node, sizes) : undefined
    if (interpretation !== undefined) interpretations.push(interpretation)
  }
  return interpretations
}

interface Graph {
  readonly path: string
  readonly constants: ReadonlyMap<string, StoredTensor>
  readonly states: OnnxStates
  /** Networks of nodes without attributes by operator and inputs: all but the name is shared. */
  readonly networks: Map<string, ImportedNetwork>
}

interface Sizes {
  readonly descriptor: RnnDescriptor
  readonly summary: string
  readonly tensors: readonly StoredTensor[]
}

/** Sizes by weights: nodes of the same weights, of which a graph may have thousands, share them. */
class SizesOfNodes {
  readonly #path: string
  readonly #known = new Map<string, Sizes>()

  constructor(path: string) {
    this.#path = path
  }

  of(node: OnnxNodeMessage, cellMode: CellMode, W: StoredTensor, R: StoredTensor): Sizes {
    const key = [cellMode, direction(node), W.name, R.name].join('\0')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const descriptor = descriptorOf(this.#path, node, cellMode, W.shape, R.shape)
    const sizes = { descriptor, summary: sizesInWords('onnx', descriptor), tensors: [W, R] }
    this.#known.set(key, sizes)
    return sizes
  }
}

/** The interpretation of a node. It reads no tensors: they are read when its result is requested. */
function interpretationOf(graph: Graph, node: OnnxNodeMessage, sizes: SizesOfNodes): Interpretation | undefined {
  const { constants, states } = graph
  const constantOf = (input: InputName) => constants.get(inputOf(node, input))
  const [W, R] = [constantOf('W'), constantOf('R')]
  if (W === undefined || R === undefined) return undefined
  const cellMode = cellModeOf(node)
  const { descriptor, summary, tensors } = sizes.of(node, cellMode, W, R)
  const alsoUses: StoredTensor[] = []
  for (const input of INPUTS.slice(3)) {
    const constant = constantOf(input)
    if (constant !== undefined) alsoUses.push(constant)
  }
  for (const input of STATE_INPUTS) {
    const value = inputOf(node, input)
    if (value !== '') alsoUses.push(...states.source(value).constants)
  }
  return {
    name: shownName(node),
    convention: 'onnx',
    cellMode,
    summary,
    tensors,
    ...(alsoUses.length > 0 && { alsoUses }),
    result: (shared) => networkOf(graph, node, descriptor, shared),
  }
}

/** The name of a node, or of its first output, or of its operation. */
function shownName({ name, outputs, opType }: OnnxNodeMessage): string {
  return [name, ...outputs].find((text) => text !== '') ?? opType
}

/** The name of the value that an input of a node is, '' where it is left out. */
function inputOf(node: OnnxNodeMessage, input: InputName): string {
  return node.inputs[INPUTS.indexOf(input)] ?? ''
}

async function networkOf(
  graph: Graph,
  node: OnnxNodeMessage,
  descriptor: RnnDescriptor,
  shared: SharedParameters,
): Promise<readonly (ImportedNetwork | ImportedCell)[]> {
  const { path, constants, states } = graph
  const { cellMode } = descriptor
  const name = shownName(node)
  const key = node.attributes.size === 0 ? [node.opType, ...node.inputs].join('\0') : undefined
  const known = graph.networks.get(key ?? '')
  if (known !== undefined) return [{ ...known, name }]
  const activations = checkFunction(path, name, node)
  const named = new Map<InputName, StoredTensor>()
  for (const input of INPUTS) {
    const value = inputOf(node, input)
    const constant = value === '' ? undefined : constants.get(value)
    if (constant !== undefined) named.set(input, constant)
  }
  const stored = [...named.values()]
  const weights = new Map([...named].filter(([input]) => input === 'W' || input === 'R' || input === 'B'))
  const linearBeforeReset = node.attributes.get('linear_before_reset')?.i === 1
  const batchMajor = node.attributes.get('layout')?.i === 1
  const notes = batchMajor ? ['The node is batch-major (layout 1): its X and Y are [B,T,·].'] : []
  for (const input of STATE_INPUTS) {
    const value = inputOf(node, input)
    if (value === '') continue
    const isFixed = named.has(input)
    if (await isZero(states.source(value))) named.delete(input)
    else if (!isFixed) notes.push(`Its ${input} is the value ${value} of the graph: pass it as ${STATES[input]}.`)
  }
  checkShapes(path, name, descriptor, named, batchMajor)
  const inputs = await fixedInputs(path, name, named, batchMajor)
  checkEmptyRows(path, name, inputs)
  const common = {
    name,
    convention: 'onnx',
    reverse: direction(node) === 'reverse',
    inputs,
    tensorNames: stored.map((tensor) => tensor.name),
    notes,
  } as const
  // The layout is the same for both forms of the GRU; the form decides between model and cell.
  const canonical = await shared.canonical(descriptor, weights, (tensors) => {
    return onnxToCanonical(descriptor, [tensors], { linearBeforeReset: 1 })
  })
  const peepholes = await named.get('P')?.read()
  const differences = {
    resetBefore: cellMode === 'gru' && !linearBeforeReset,
    peepholes: peepholes?.some((value) => value !== 0) === true ? peepholes : undefined,
    clip: clipOf(node),
    activations: activations.every((activation) => activation === OF_MODEL[cellMode])
      ? undefined
      : activations.map((activation) => (activation === OF_MODEL[cellMode] ? {} : { activation })),
  }
  const isNetwork = Object.values(differences).every((difference) => !difference)
  if (isNetwork) {
    const network = { ...common, descriptor, canonical }
    if (key !== undefined) graph.networks.set(key, network)
    return [network]
  }
  return cellsOf(descriptor, canonical, differences, common)
}

/** The bound of the inputs of activations, if any; models have none (their cellClip bounds the cell state). */
function clipOf({ attributes }: OnnxNodeMessage): number | undefined {
  const clip = attributes.get('clip')?.f ?? 0
  return clip > 0 ? clip : undefined
}

const DIRECTIONS = ['forward', 'reverse', 'bidirectional']

function direction(node: OnnxNodeMessage): string {
  return node.attributes.get('direction')?.s ?? 'forward'
}

function cellModeOf({ opType, attributes }: OnnxNodeMessage): CellMode {
  if (opType === 'LSTM') return 'lstm'
  if (opType === 'GRU') return 'gru'
  return attributes.get('activations')?.strings[0]?.toLowerCase() === 'relu' ? 'rnn_relu' : 'rnn_tanh'
}

function descriptorOf(
  path: string,
  node: OnnxNodeMessage,
  cellMode: CellMode,
  W: readonly number[],
  R: readonly number[],
): RnnDescriptor {
  const [, , inputSize] = W
  const [, , numUnits] = R
  if (W.length !== 3 || R.length !== 3 || !inputSize || !numUnits)
    throw corrupt(path, `W [${W}] and R [${R}] of ${node.opType} must be 3-D, with elements`)
  if (!DIRECTIONS.includes(direction(node))) {
    throw corrupt(
      path,
      `the direction of ${shownName(node)} must be one of ${DIRECTIONS.join(', ')}: ${direction(node)}`,
    )
  }
  return createRnnDescriptor({
    cellMode,
    numLayers: 1,
    numUnits,
    inputSize,
    inputMode: 'linear_input',
    direction: direction(node) === 'bidirectional' ? 'bidirectional' : 'unidirectional',
  })
}

/** The activation in each direction. Refuses attributes that make a node another function than the models and cells compute. */
function checkFunction(path: string, name: string, node: OnnxNodeMessage): readonly Activation[] {
  const { attributes, opType } = node
  const refuse = (rule: string, value: unknown) =>
    new WeightFileError(
      'ERR_WEIGHTS_OTHER_FUNCTION',
      `Cannot import the node ${name} as ${rule}: current value is ${String(value)}`,
      { path },
    )
  const known = ACTIVATIONS[opType as keyof typeof ACTIVATIONS]
  const given = attributes.get('activations')?.strings ?? []
  const count = known[0].names.length
  const directions = direction(node) === 'bidirectional' ? 2 : 1
  const activations = Array.from({ length: directions }, (_, index) => {
    // A list for one direction stands for both.
    const names = known[0].names.map((name, place) => given[index * count + place] ?? given[place] ?? name)
    const found = known.find((one) =>
      one.names.every((each, place) => each.toLowerCase() === names[place]?.toLowerCase()),
    )
    if (found !== undefined) return found.activation
    const rule = known.map((one) => one.names.join(', ')).join(' or ')
    throw refuse(`its activations must be ${rule} in each direction, as no cell computes others`, names.join(', '))
  })
  const inputForget = attributes.get('input_forget')?.i ?? 0
  if (inputForget !== 0) throw refuse('input_forget must be 0', inputForget)
  return activations
}

/** ONNX Runtime ends rows of length 0 in zeros, models and cells here in the states that they began with. */
function checkEmptyRows(path: string, name: string, { initialH, initialC, sequenceLengths }: FixedInputs): void {
  if (sequenceLengths?.includes(0) !== true || (initialH ?? initialC) === undefined) return
  throw new WeightFileError(
    'ERR_WEIGHTS_OTHER_FUNCTION',
    `Cannot import the node ${name} as its constant sequence_lens must not be 0 beside initial states: such rows end in zeros in ONNX Runtime, and in their initial states here`,
    { path },
  )
}

/** Throws unless the constants of a node have the shapes of onnx/defs/rnn/defs.cc, and equal numbers of rows. */
function checkShapes(
  path: string,
  name: string,
  descriptor: RnnDescriptor,
  named: ReadonlyMap<InputName, StoredTensor>,
  batchMajor: boolean,
): void {
  const { numUnits: H, inputSize: I } = descriptor
  const [D, columns] = [numDirections(descriptor), numGates(descriptor) * H]
  const states = STATE_INPUTS.flatMap((input) => named.get(input) ?? [])
  // The number of rows is that of any of these, which the others are compared with.
  const B = named.get('sequence_lens')?.shape[0] ?? states[0]?.shape[batchMajor ? 0 : 1] ?? 0
  const state = batchMajor ? [B, D, H] : [D, B, H]
  const expected: Readonly<Partial<Record<InputName, readonly number[]>>> = {
    ...{ W: [D, columns, I], R: [D, columns, H], B: [D, 2 * columns], P: [D, 3 * H] },
    ...{ sequence_lens: [B], initial_h: state, initial_c: state },
  }
  for (const [input, { shape }] of named) {
    const right = expected[input]
    if (right === undefined || String(right) === String(shape)) continue
    throw corrupt(path, `${input} of the node ${name} must be [${right}]: its shape is [${shape}]`)
  }
}

/** Initial states as [L·D,B,H] and lengths, where they are constants. */
async function fixedInputs(
  path: string,
  name: string,
  named: ReadonlyMap<InputName, StoredTensor>,
  batchMajor: boolean,
): Promise<FixedInputs> {
  const state = async (input: 'initial_h' | 'initial_c'): Promise<Tensor<FloatArray> | undefined> => {
    const stored = named.get(input)
    if (stored === undefined) return undefined
    const tensor = { data: await stored.read(), shape: stored.shape }
    return batchMajor ? exchangeFirstAxes(tensor) : tensor
  }
  const [initialH, initialC] = [await state('initial_h'), await state('initial_c')]
  const stored = named.get('sequence_lens')
  // The option `inputs` has arrays of floating-point numbers for integers too.
  const sequenceLengths = await (stored?.integers?.() ?? stored?.read())
  const wrong = sequenceLengths?.find((length) => !Number.isSafeInteger(length) || length < 0)
  if (wrong !== undefined) throw corrupt(path, `sequence_lens of the node ${name} must be lengths: one is ${wrong}`)
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
