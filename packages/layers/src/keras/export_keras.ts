import { type CellActivation, canonicalToKeras, numDirections } from '@cudnn-rnn/canonical'
import { encodeKerasArchive } from '@cudnn-rnn/interop'
import { BranchLayer } from '../kinds/branch_layer.js'
import { CellLayer } from '../kinds/cell_layer.js'
import { noExport } from '../export_error.js'
import { type ExportedNetwork, exportedNetwork, isRecurrent } from '../exported_network.js'
import { chainOf, masksOf } from './keras_chain.js'
import type { FileLayer } from './keras_graph.js'
import { type KerasConfig, type KerasLayer, readVariables } from './keras_layers.js'
import type { Floats } from './keras_row.js'
import type { Layer } from '../layer.js'
import { kerasLayersOf, rms } from '../layer_table.js'
import type { RecurrentLayer } from '../kinds/recurrent.js'
import { takesLastOfBackward } from '../kinds/sequence_pooling.js'
import { featuresOf } from '../signal.js'
import { TimeDistributedLayer } from '../kinds/time_distributed.js'
import type { WholeModel } from '../model/whole_model.js'

const CLASS_NAMES = { lstm: 'LSTM', gru: 'GRU', rnn_tanh: 'SimpleRNN', rnn_relu: 'SimpleRNN' } as const
const OWN_NAMES = ['kernel', 'recurrent_kernel', 'bias'] as const
const JOINS = new Map([
  ['concat', 'Concatenate'],
  ['add', 'Add'],
  ['multiply', 'Multiply'],
])
const INPUT = 'input_layer'

/**
 * A model as a `.keras` file for `keras.models.load_model`, of a `Sequential`, or of a functional model if it has branches; in
 * Keras the batch comes first.
 *
 * @throws RangeError `ERR_NO_EXPORT`, naming the layer that has no counterpart: `attentionPooling`, cells of other forms than the
 *   models', a layer of your own, a mask before layers that take padding for steps there, a `reverse` or a `lastStep` that is not
 *   one of a recurrent layer, the last step of the sequence after a bidirectional one; `ERR_UNSUPPORTED_BY_FRAMEWORK`
 */
export async function encodeKeras({ input, executor, layers }: WholeModel): Promise<Uint8Array> {
  const graph = new KerasGraph(executor.dtype)
  const batchShape = [null, ...(input.isSequence ? [null] : []), ...(input.features === null ? [] : [input.features])]
  const inputDtype = input.features === null ? 'int32' : executor.dtype
  graph.add({ className: 'InputLayer', config: { batch_shape: batchShape, dtype: inputDtype, sparse: false } }, [])
  const last = await graph.chain(layers, INPUT)
  const root = graph.model(batchShape, last)
  const masking = layersIn(layers).find(isMasking)
  if (masking !== undefined) checkMasks(masking, root)
  return encodeKerasArchive(root, graph.variables)
}

function layersIn(layers: readonly Layer[]): Layer[] {
  return layers.flatMap((layer) => [layer, ...layersIn(layer.parts)])
}

function isMasking({ kind, definition: { config } }: Layer): boolean {
  return kind === 'masking' || config['maskZero'] !== undefined
}

/** Throws RangeError `ERR_NO_EXPORT` if layers behind a mask take padding for steps in Keras: here they do not. */
function checkMasks(layer: Layer, kerasModel: KerasConfig): void {
  const check = (chain: readonly FileLayer[], isBranch: boolean): void => {
    masksOf(chain, true, isBranch)
    for (const branch of chain.flatMap(({ branches = [] }) => branches)) check(branch, true)
  }
  try {
    check(chainOf({ path: layer.name, format: 'keras-archive', kerasModel }), false)
  } catch {
    throw noExport('Keras', { name: layer.name, kind: `${layer.kind} before layers that take its padding for steps` })
  }
}

function described(className: string, config: KerasConfig): KerasConfig {
  return { module: 'keras.layers', class_name: className, config, registered_name: null }
}

interface Node {
  readonly layer: KerasLayer
  readonly name: string
  readonly sources: readonly string[]
}

/** A model of Keras that grows layer by layer. */
class KerasGraph {
  readonly variables = new Map<string, Floats>()
  readonly #nodes: Node[] = []
  readonly #counts = new Map<string, number>()
  readonly #dtype: string

  constructor(dtype: string) {
    this.#dtype = dtype
  }

  /** The name of a new layer, which takes the outputs of others. */
  add(layer: KerasLayer, sources: readonly string[]): string {
    const base = placeOf(layer.className)
    const count = this.#counts.get(base) ?? 0
    this.#counts.set(base, count + 1)
    const name = count === 0 ? base : `${base}_${count}`
    this.#nodes.push({ layer, name, sources })
    for (const [path, tensor] of Object.entries(layer.variables ?? {})) {
      this.variables.set(`layers/${name}/${path}`, tensor)
    }
    return name
  }

  async chain(layers: readonly Layer[], input: string): Promise<string> {
    const hasMask = layers.some(isMasking)
    let x = input
    for (let at = 0; at < layers.length; ) {
      const [layer, ...behind] = layers.slice(at) as [Layer, ...Layer[]]
      if (layer instanceof BranchLayer) {
        const className = foldOf(layer, behind[0])
        const both = await cellsOfBothSides(layer)
        const join = className ?? JOINS.get(layer.kind)
        if (both !== undefined) x = this.add(both, [x])
        else if (join !== undefined) x = await this.#joined(layer, join, x)
        else throw noExport('Keras', layer)
        at += className === undefined ? 1 : 2
        continue
      }
      const { found, taken } = await kerasLayers(layer, behind, hasMask)
      for (const each of found) x = this.add(each, Array<string>(each.takes ?? 1).fill(x))
      at += taken
    }
    return x
  }

  async #joined({ branches }: BranchLayer, className: string, input: string): Promise<string> {
    const outputs: string[] = []
    for (const branch of branches) outputs.push(await this.chain(branch, input))
    return outputs.length === 1 ? outputs[0] : this.add({ className, config: {} }, outputs)
  }

  /** A Sequential, or a functional model if it has branches. */
  model(batchShape: readonly (number | null)[], last: string): KerasConfig {
    const dtype = {
      ...{ module: 'keras', class_name: 'DTypePolicy', config: { name: this.#dtype }, registered_name: null },
    }
    const isChain = this.#nodes.every(({ sources, layer: { call } }, at) => {
      return call === undefined && sources.join() === (at === 0 ? '' : this.#nodes[at - 1].name)
    })
    const layers = this.#nodes.map(({ layer, name, sources }) => {
      const own = described(layer.className, { name, dtype, ...layer.config })
      if (isChain) return own
      const tensors = sources.map((source) => tensorOf(source, this.#dtype))
      const args = sources.length < 2 || layer.takes !== undefined ? tensors : [tensors]
      return { ...own, name, inbound_nodes: sources.length === 0 ? [] : [{ args, kwargs: layer.call ?? {} }] }
    })
    const common = { trainable: true, dtype, layers }
    const build = { build_config: { input_shape: batchShape } }
    if (isChain) {
      const config = { name: 'sequential', ...common, build_input_shape: batchShape }
      return { ...described('Sequential', config), module: 'keras', ...build }
    }
    const config = { name: 'functional', ...common, input_layers: [INPUT, 0, 0], output_layers: [last, 0, 0] }
    const own = { module: 'keras.src.models.functional', class_name: 'Functional', registered_name: 'Functional' }
    return { ...own, config, ...build }
  }
}

function tensorOf(source: string, dtype: string): KerasConfig {
  return { class_name: '__keras_tensor__', config: { shape: [null], dtype, keras_history: [source, 0, 0] } }
}

/** The class of Keras that joins the outputs of branches by the operation behind them. */
function foldOf({ kind, branches, input }: BranchLayer, behind: Layer | undefined): string | undefined {
  if (kind !== 'concat' || behind?.kind !== 'columnFold') return undefined
  const { columns, by } = behind.definition.config
  const widths = branches.map((branch) => featuresOf(branch.at(-1)?.output ?? input))
  if (String(columns) !== String(widths)) return undefined
  return String(by).replace(/^./, (letter) => letter.toUpperCase())
}

interface Found {
  readonly found: readonly KerasLayer[]
  /** How many layers they compute. */
  readonly taken: number
}

/** The layers of Keras that compute a layer, with layers behind it that are parts of the same. */
async function kerasLayers(layer: Layer, behind: readonly Layer[], hasMask: boolean): Promise<Found> {
  const [next, ...rest] = behind
  if (isRecurrent(layer)) return recurrentLayers(layer, behind, hasMask)
  if (layer.kind === 'reverse' && isRecurrent(next) && next.output.reversedFrom === undefined) {
    const { found, taken } = await recurrentLayers(next, rest, hasMask)
    const [first, ...others] = found
    return { found: [{ ...first, config: { ...first.config, go_backwards: true } }, ...others], taken: taken + 1 }
  }
  if (layer.definition.config['function'] === 'rms' && next?.kind === 'columnScale') {
    const [factor, offset] = await readVariables(next)
    if (factor.shape[0] === featuresOf(layer.input) && offset.data.every((value) => value === 0)) {
      return { found: [rms(layer, layer.definition.config['epsilon'], factor)], taken: 2 }
    }
  }
  if (!(layer instanceof TimeDistributedLayer)) return { found: await kerasLayersOf(layer), taken: 1 }
  const found = (await kerasLayersOf(layer.inner)).map(({ className, config, variables = {} }) => ({
    className: 'TimeDistributed',
    config: { layer: described(className, { name: placeOf(className), ...config }) },
    variables: Object.fromEntries(Object.entries(variables).map(([path, tensor]) => [`layer/${path}`, tensor])),
  }))
  return { found, taken: 1 }
}

async function recurrentLayers(
  layer: RecurrentLayer | CellLayer,
  behind: readonly Layer[],
  hasMask: boolean,
): Promise<Found> {
  const { output } = layer
  const network = await exportedNetwork('Keras', layer)
  const directions = numDirections(network.descriptor)
  const { numLayers, dropout } = network.descriptor
  const [next] = behind
  const isLast = next?.kind === 'lastStep' && (output.reversedFrom === undefined || takesLastOfBackward(next))
  // Both sides of a Bidirectional give zeros at masked steps.
  const isHeld = next?.kind === 'holdPadding' && directions === 1
  const sides = sidesOf(layer, network)
  const found = Array.from({ length: numLayers }, (_, k): KerasLayer => {
    const isSequence = !(isLast && k === numLayers - 1)
    const options = {
      // Between layers here, before a layer's input there; in training only.
      dropout: k === 0 ? 0 : dropout,
      return_sequences: isSequence,
      ...(hasMask && directions === 1 && isSequence && { zero_output_for_mask: !isHeld }),
    }
    const own = sides.slice(directions * k, directions * (k + 1)).map((side) => withOptions(side, options))
    return directions === 1 ? own[0] : bothSides(own[0], own[1])
  })
  return { found, taken: isLast || isHeld ? 2 : 1 }
}

/** A layer of Keras for each direction of each layer of a network. */
function sidesOf(layer: Layer, network: ExportedNetwork): KerasLayer[] {
  const { descriptor, canonical, resetBefore, activation, recurrentActivation } = network
  const { cellMode, numUnits } = descriptor
  const className = CLASS_NAMES[cellMode]
  const named = (function_: CellActivation) => {
    const name = kerasName(function_)
    if (name === undefined) throw noExport('Keras', { ...layer, kind: `${layer.kind} of ${JSON.stringify(function_)}` })
    return name
  }
  const config: KerasConfig = {
    units: numUnits,
    activation: named(activation),
    ...(className !== 'SimpleRNN' && { recurrent_activation: named(recurrentActivation) }),
    ...(cellMode === 'gru' && { reset_after: !resetBefore }),
  }
  return canonicalToKeras(descriptor, canonical).map((weights) => {
    const { bias } = weights
    const width = bias.data.length / 2
    const sum = { data: bias.data.slice(0, width).map((value, k) => value + bias.data[width + k]), shape: [width] }
    const tensors: Readonly<Record<string, Floats>> = resetBefore ? { ...weights, bias: sum } : weights
    const paths = OWN_NAMES.map((key, k) => [`cell/vars/${k}`, tensors[key]] as const)
    return { className, config, variables: Object.fromEntries(paths) }
  })
}

/** Functions of cells with parameters that Keras has under their names. */
const OF_PARAMETERS = new Map([
  [JSON.stringify({ name: 'hard_sigmoid', alpha: 1 / 6 }), 'hard_sigmoid'],
  [JSON.stringify({ name: 'leaky_relu', alpha: 0.2 }), 'leaky_relu'],
])
const FOREIGN = new Set(['affine', 'scaled_tanh', 'thresholded_relu', 'hard_sigmoid', 'leaky_relu'])

function kerasName(activation: CellActivation): string | undefined {
  if (typeof activation === 'object') return OF_PARAMETERS.get(JSON.stringify(activation))
  return FOREIGN.has(activation) ? undefined : activation
}

function withOptions(layer: KerasLayer, options: KerasConfig): KerasLayer {
  return { ...layer, config: { ...layer.config, ...options } }
}

function bothSides(forward: KerasLayer, backward: KerasLayer): KerasLayer {
  const side = ({ className, config }: KerasLayer, prefix: string, goBackwards: boolean) =>
    described(className, { name: `${prefix}_${placeOf(className)}`, ...config, go_backwards: goBackwards })
  const layers = { layer: side(forward, 'forward', false), backward_layer: side(backward, 'backward', true) }
  const variables = [forward, backward].flatMap((own, k) => {
    const place = k === 0 ? 'forward_layer' : 'backward_layer'
    return Object.entries(own.variables ?? {}).map(([path, tensor]) => [`${place}/${path}`, tensor] as const)
  })
  return {
    className: 'Bidirectional',
    config: { merge_mode: 'concat', ...layers },
    variables: Object.fromEntries(variables),
  }
}

/** Two cells side by side, one of which reads from the end: their branches, as `importKeras` makes them. */
async function cellsOfBothSides({ kind, branches }: BranchLayer): Promise<KerasLayer | undefined> {
  const [[forward, after, ...more] = [], [turn, backward, last, ...others] = []] = branches
  const isOne = kind === 'concat' && branches.length === 2 && more.length + others.length === 0
  const isTurned = turn?.kind === 'reverse' && forward instanceof CellLayer && backward instanceof CellLayer
  const isLast = after?.kind === 'lastStep' && last?.kind === 'lastStep'
  if (!isOne || !isTurned || !(isLast || (after === undefined && last?.kind === 'reverse'))) return undefined
  const sides: KerasLayer[] = []
  for (const side of [forward, backward]) {
    const [own] = sidesOf(side, await exportedNetwork('Keras', side))
    sides.push(withOptions(own, { return_sequences: !isLast }))
  }
  return bothSides(sides[0], sides[1])
}

/** In snake case, as Keras names the places of layers in a file: `re_lu`, `max_pooling1d`. */
function placeOf(className: string): string {
  const words = className.replace(/(.)([A-Z][a-z]+)/g, '$1_$2').replace(/([a-z])([A-Z])/g, '$1_$2')
  return words.toLowerCase()
}
