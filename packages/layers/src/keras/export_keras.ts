import { encodeKerasArchive } from '@cudnn-rnn/interop'
import { noExport } from '../export_error.js'
import { isRecurrent } from '../exported_network.js'
import { BranchLayer } from '../kinds/branch_layer.js'
import { networkOrder } from '../kinds/cell_layer.js'
import { MERGES, type MergeName } from '../kinds/merges.js'
import { SequencesLayer, TimeDistributedLayer } from '../kinds/time_distributed.js'
import type { Layer } from '../layer.js'
import { kerasLayersOf } from '../layer_table.js'
import { type GraphNode, type ModelGraph, type Ref, stateSizes } from '../model/model_graph.js'
import type { WholeModel } from '../model/whole_model.js'
import { featuresOf } from '../signal.js'
import {
  cellsOfBothSides,
  type FileUse,
  type Found,
  isLastOf,
  isOneWay,
  kerasNetwork,
  type NetworkUse,
} from './export_networks.js'
import type { FileLayer } from './flat_graph.js'
import { graphOf } from './keras_graph.js'
import { described, type KerasConfig, type KerasLayer, overPictures, placeOf, readVariables } from './keras_layers.js'
import { masksOf } from './keras_masks.js'
import { type Added, called, inKerasOrder, type Tensor } from './keras_order.js'
import type { Floats } from './keras_row.js'
import { rms } from './keras_scales.js'

const INPUT = 'input_layer'

/**
 * A model as a `.keras` file for `keras.models.load_model`: a `Sequential`, or a functional model if it has branches or is one here;
 * in Keras the batch comes first. Its inputs and outputs keep their names, and a shared layer is one.
 *
 * @throws RangeError `ERR_NO_EXPORT`, naming the layer that has no counterpart: `attentionPooling`, cells of other forms than the
 *   models', a layer of your own, a mask before layers that take padding for steps there, a `dot` of sequences, a shared layer
 *   whose calls differ in the steps that they take or give; `ERR_UNSUPPORTED_BY_FRAMEWORK`
 */
export async function encodeKeras({ executor, graph }: WholeModel): Promise<Uint8Array> {
  const masking = layersIn(graph.layers).find(isMasking)
  const file = new KerasGraph(executor.dtype, masking !== undefined)
  const inputs = graph.inputs.map(({ name, signal: { isSequence, features } }) => {
    const shape = [null, ...(isSequence ? [null] : []), ...(features === null ? [] : [features])]
    const dtype = features === null ? 'int32' : executor.dtype
    const config = { batch_shape: shape, dtype, sparse: false }
    return called(file.add({ className: 'InputLayer', config }, graph.isChain ? INPUT : name), [])
  })
  const outputs = await file.write(graph, inputs)
  const { root, variables } = file.model(graph, inputs, outputs)
  if (masking !== undefined) checkMasks(masking, root)
  return encodeKerasArchive(root, variables)
}

function layersIn(layers: readonly Layer[]): Layer[] {
  return layers.flatMap((layer) => [layer, ...layersIn(layer.parts)])
}

function isMasking({ kind, definition: { config } }: Layer): boolean {
  return kind === 'masking' || config['maskZero'] !== undefined
}

/** Throws RangeError `ERR_NO_EXPORT` if layers behind a mask take padding for steps in Keras: here they do not. */
function checkMasks(layer: Layer, kerasModel: KerasConfig): void {
  const { maskZero, padding = maskZero } = layer.definition.config
  const refused = (kind: string) => noExport('Keras', { name: layer.name, kind: `${layer.kind} ${kind}` })
  let isDropped = true
  try {
    const graph = graphOf({ path: layer.name, format: 'keras-archive', kerasModel })
    const masks = masksOf(graph, '3', true)
    isDropped = masks.some(({ drops }, at) => drops && !isEveryStep(graph.calls[at].layer))
    // Steps are moved together here.
    if (!isDropped && (padding === 'end' || masks.every(({ mask }) => mask !== 'end'))) return
  } catch {}
  if (isDropped) throw refused('before layers that take its padding for steps')
  throw refused('of padding anywhere before an output of sequences')
}

/** Whether it is the operation of an `everyStep`, behind which there is no padding here either. */
function isEveryStep({ className, config }: FileLayer): boolean {
  return className === 'Multiply' && String(config['operands']) === String([null, 1])
}

/** A model of Keras that grows layer by layer. */
class KerasGraph {
  readonly #added: Added[] = []
  readonly #dtype: string
  readonly #hasMask: boolean
  /** Layers of the file that compute layers here together, by the names of these. */
  readonly #known = new Map<string, readonly Added[]>()
  /** The layers together with which a layer is computed. */
  readonly #groups = new Map<Layer, string>()

  constructor(dtype: string, hasMask: boolean) {
    this.#dtype = dtype
    this.#hasMask = hasMask
  }

  add(layer: KerasLayer, name?: string): Added {
    const added = { layer, name, calls: [] }
    this.#added.push(added)
    return added
  }

  /**
   * The layers of a graph, each applied as often as there.
   *
   * @returns the tensors of its outputs
   */
  async write(graph: ModelGraph, inputs: readonly Tensor[]): Promise<Tensor[]> {
    const values: (readonly Tensor[])[] = inputs.map((x) => [x])
    const tensorOf = ([source, part]: Ref) => values[source][part]
    const calls = new Map<Layer | undefined, number[]>(graph.layers.map((layer) => [layer, []]))
    for (const [at, { layer }] of graph.nodes.entries()) calls.get(layer)?.push(at)
    for (const [at, node] of graph.nodes.entries()) {
      // A layer before it computes it, too.
      if (values[inputs.length + at] !== undefined) continue
      const path = graph.pathFrom(at)
      const behind = path.map((place) => graph.nodes[place].layer as Layer)
      const { layer, from } = node
      const before = from[0][0] - inputs.length
      const isTurned =
        isRecurrent(layer) &&
        graph.nodes[before]?.layer?.kind === 'reverse' &&
        graph.pathFrom(before)[0] === at &&
        isOneWay(layer)
      if (layer?.kind === 'reverse' && isRecurrent(behind[0]) && isOneWay(behind[0])) {
        values[inputs.length + at] = [tensorOf(from[0])]
        continue
      }
      if (layer?.kind === 'lastStep' && !this.#hasMask) {
        const last = this.#lastOf(layer, graph.nodes[before]?.layer, values[from[0][0]])
        if (last !== undefined) {
          values[inputs.length + at] = [last]
          continue
        }
      }
      const { tensors, taken } =
        layer === undefined || layer instanceof BranchLayer
          ? await this.#joined(node, from.map(tensorOf))
          : await this.#applied(layer, behind, from.map(tensorOf), node.states.map(tensorOf), {
              isTurned,
              ...(isRecurrent(layer) && useOf(graph, layer, calls.get(layer) ?? [])),
            })
      for (const place of [at, ...path.slice(0, taken - 1)]) values[inputs.length + place] = tensors
    }
    return graph.outputs.map(({ value }) => tensorOf(value))
  }

  async #joined({ layer, merge, name, output }: GraphNode, operands: readonly Tensor[]): Promise<Written> {
    if (layer instanceof BranchLayer) {
      const both = await cellsOfBothSides(layer)
      if (both !== undefined) return { tensors: this.#call([layer], [both], operands, []), taken: 1 }
      return { tensors: await this.write(layer.graph, operands), taken: 1 }
    }
    if (operands.length === 1) return { tensors: operands, taken: 1 }
    const isDot = merge === 'dot'
    if (isDot && output.isSequence) throw noExport('Keras', { name, kind: 'dot of sequences' })
    const { keras: className, isOperation = false } = MERGES[merge as MergeName]
    const own = { className, config: isDot ? { axes: 1 } : {}, ...(isOperation && { operands: [], isSpread: true }) }
    return { tensors: [called(this.add(own), operands)], taken: 1 }
  }

  /** The last step of a network that gives its sequence to other layers: its last layer's state. */
  #lastOf(layer: Layer, before: Layer | undefined, tensors: readonly Tensor[]): Tensor | undefined {
    if (!isRecurrent(before) || !isLastOf(before, layer)) return undefined
    const kinds = before.stateCount
    const sides = isOneWay(before) ? 1 : 2
    const last = networkOrder(before.definition, tensors.slice(1)).slice(-kinds * sides)
    const ends = last.filter((_, k) => k % kinds === 0)
    return sides === 1 ? ends[0] : called(this.add({ className: 'Concatenate', config: {} }), ends)
  }

  /** A layer, with layers behind it that are parts of the same. */
  async #applied(
    layer: Layer,
    behind: readonly Layer[],
    operands: readonly Tensor[],
    states: readonly Tensor[],
    network: NetworkUse,
  ): Promise<Written> {
    const { found, taken } = await kerasLayers(layer, behind, { ...network, hasMask: this.#hasMask })
    const tensors = this.#call(
      [layer, ...behind.slice(0, taken - 1)],
      found,
      operands,
      networkOrder(layer.definition, states),
    )
    const [y, ...ends] = tensors
    return { tensors: [y, ...networkOrder(layer.definition, ends)], taken }
  }

  /** Applies layers one behind the other, the same as in an earlier call if there was one. */
  #call(
    layers: readonly Layer[],
    found: readonly KerasLayer[],
    operands: readonly Tensor[],
    states: readonly Tensor[],
  ): Tensor[] {
    // Behind it each lastStep is the same part of its class.
    const parts = layers.map(({ name, kind, variables }, k) => (k > 0 && variables.length === 0 ? kind : name))
    const group = [...parts, found[0]?.config['go_backwards']].join()
    for (const layer of layers) {
      const { name, kind, variables } = layer
      if (variables.length > 0 && (this.#groups.get(layer) ?? group) !== group) {
        throw noExport('Keras', { name, kind: `${kind} whose calls differ in the steps that they take or give` })
      }
      this.#groups.set(layer, group)
    }
    const added = this.#known.get(group) ?? found.map((each) => this.add(each))
    this.#known.set(group, added)
    const count = stateSizes(layers[0]).length / added.length
    const ends: Tensor[] = []
    let [y, ...others] = operands as [Tensor, ...Tensor[]]
    for (const [k, each] of added.entries()) {
      const missing = Math.max(0, (each.layer.takes ?? 1) - 1 - others.length)
      const sources = [y, ...others, ...Array<Tensor>(missing).fill(y)].map((source, place) => {
        const before = each.layer.before?.[place]
        return before === undefined ? source : called(this.add(before), [source])
      })
      others = []
      y = called(each, sources, states.slice(k * count, (k + 1) * count))
      const [call] = y
      ends.push(...Array.from({ length: count }, (_, state): Tensor => [call, state + 1]))
    }
    return [y, ...ends]
  }

  model(graph: ModelGraph, inputs: readonly Tensor[], outputs: readonly Tensor[]) {
    const dtype = {
      ...{ module: 'keras', class_name: 'DTypePolicy', config: { name: this.#dtype }, registered_name: null },
    }
    const isNext = ({ calls, layer: { call, operands } }: Added, at: number) => {
      const sources = calls.flatMap((each) => each.sources.map(([{ added }]) => added))
      return (
        call === undefined &&
        operands === undefined &&
        (at === 0 || (sources.length === 1 && sources[0] === this.#added[at - 1]))
      )
    }
    const isChain = graph.isChain && this.#added.every(isNext)
    const named = Object.fromEntries(graph.outputs.map(({ name }, k) => [name, outputs[k]]))
    const ends = Object.keys(named)
      .sort()
      .map((name) => named[name])
    const added = inKerasOrder(this.#added, [...ends, ...inputs])
    const { names, variables } = this.#named(added)
    const numbers = new Map(added.flatMap(({ calls }) => calls.map((call, k) => [call, k] as const)))
    const historyOf = ([call, tensor]: Tensor) => [names.get(call.added), numbers.get(call), tensor]
    const written = (tensor: Tensor) => {
      const config = { shape: [null], dtype: this.#dtype, keras_history: historyOf(tensor) }
      return { class_name: '__keras_tensor__', config }
    }
    const layers = added.map((each) => {
      const { layer, calls } = each
      const name = names.get(each)
      const { className, operands } = layer
      const operation = {
        module: 'keras.src.ops.numpy',
        class_name: className,
        config: { name, ...layer.config },
        registered_name: className,
      }
      const own = operands !== undefined ? operation : described(className, { name, dtype, ...layer.config })
      if (isChain) return own
      const nodes = calls.flatMap(({ sources, states }) => {
        const tensors = sources.map(written)
        const args = [...(sources.length < 2 || layer.isSpread === true ? tensors : [tensors]), ...(operands ?? [])]
        const kwargs = { ...layer.call, ...(states.length > 0 && { initial_state: states.map(written) }) }
        return sources.length === 0 ? [] : [{ args, kwargs }]
      })
      return { ...own, name, inbound_nodes: nodes }
    })
    const common = { trainable: true, dtype, layers }
    if (isChain) {
      const shape = added[0].layer.config['batch_shape']
      const config = { name: 'sequential', ...common, build_input_shape: shape }
      const root = { ...described('Sequential', config), module: 'keras', build_config: { input_shape: shape } }
      return { root, variables }
    }
    const places = {
      input_layers: inputs.length === 1 ? historyOf(inputs[0]) : inputs.map(historyOf),
      output_layers: graph.isChain
        ? historyOf(outputs[0])
        : Object.fromEntries(Object.entries(named).map(([name, tensor]) => [name, historyOf(tensor)])),
    }
    const own = { module: 'keras.src.models.functional', class_name: 'Functional', registered_name: 'Functional' }
    return { root: { ...own, config: { name: 'functional', ...common, ...places } }, variables }
  }

  /** The names of layers, and their variables, whose places are those of their class and number. */
  #named(added: readonly Added[]) {
    const counts = new Map<string, number>()
    const names = new Map(added.flatMap((each) => (each.name === undefined ? [] : [[each, each.name] as const])))
    const used = new Set(names.values())
    const variables = new Map<string, Floats>()
    for (const each of added) {
      const base = placeOf(each.layer.className)
      const count = counts.get(base) ?? 0
      counts.set(base, count + 1)
      const place = count === 0 ? base : `${base}_${count}`
      // Keras computes masks by operations of that name.
      let name = this.#hasMask && each.layer.className === 'Concatenate' ? `${place}_` : place
      while (used.has(name)) name += '_'
      if (!names.has(each)) names.set(each, name)
      used.add(name)
      for (const [path, tensor] of Object.entries(each.layer.variables ?? {})) {
        variables.set(`layers/${place}/${path}`, tensor)
      }
    }
    return { names, variables }
  }
}

interface Written {
  /** The output, and final states behind it. */
  readonly tensors: readonly Tensor[]
  /** How many layers they compute. */
  readonly taken: number
}

/**
 * Whether calls of a network give final states, and whether one of them gives a sequence.
 *
 * @param calls the nodes of its calls
 */
function useOf(graph: ModelGraph, layer: Layer, calls: readonly number[]): Omit<NetworkUse, 'isTurned'> {
  const isLast = (next: number) => isLastOf(layer, graph.nodes[next].layer)
  const isSequence = !calls.every((at) => graph.pathFrom(at).slice(0, 1).some(isLast))
  const ofLast = calls.some((at) => graph.readersOf(at).some(isLast))
  return { isSequence, returnsState: calls.some((at) => graph.readsStates[at]) || (isSequence && ofLast) }
}

/** The layers of Keras that compute a layer, with layers behind it that are parts of the same. */
async function kerasLayers(layer: Layer, behind: readonly Layer[], use: FileUse): Promise<Found> {
  if (isRecurrent(layer)) return kerasNetwork(layer, behind, use)
  const [next] = behind
  if (layer.definition.config['function'] === 'rms' && next?.kind === 'columnScale') {
    const [factor, offset] = await readVariables(next)
    if (factor.shape[0] === featuresOf(layer.input) && offset.data.every((value) => value === 0)) {
      return { found: [rms(layer, layer.definition.config['epsilon'], factor)], taken: 2 }
    }
  }
  if (layer instanceof SequencesLayer) {
    const inner = await layersOfSequence(layer.parts)
    // A TimeDistributed applies layers, and no operations.
    if (inner.some(({ operands }) => operands !== undefined)) throw noExport('Keras', layer)
    return { found: overPictures(layer, layer.steps, ...inner.map(ofEachStep)), taken: 1 }
  }
  if (!(layer instanceof TimeDistributedLayer)) return { found: await kerasLayersOf(layer), taken: 1 }
  const inner = await kerasLayersOf(layer.inner)
  // Layers of Keras take the last axis of any form.
  if (layer.height > 1) return { found: overPictures(layer, layer.height, ...inner), taken: 1 }
  return { found: inner.map(ofEachStep), taken: 1 }
}

function ofEachStep({ className, config, variables = {} }: KerasLayer): KerasLayer {
  return {
    className: 'TimeDistributed',
    config: { layer: described(className, { name: placeOf(className), ...config }) },
    variables: Object.fromEntries(Object.entries(variables).map(([path, tensor]) => [`layer/${path}`, tensor])),
  }
}

async function layersOfSequence(parts: readonly Layer[]): Promise<KerasLayer[]> {
  const all: KerasLayer[] = []
  for (let at = 0; at < parts.length; ) {
    const isTurned = parts[at].kind === 'reverse' && isRecurrent(parts[at + 1]) && isOneWay(parts[at + 1])
    if (isTurned) at++
    const [layer, ...behind] = parts.slice(at)
    const both = layer instanceof BranchLayer ? await cellsOfBothSides(layer) : undefined
    const { found, taken } = both
      ? { found: [both], taken: 1 }
      : await kerasLayers(layer, behind, { isTurned, hasMask: false })
    all.push(...found)
    at += taken
  }
  return all
}
