import type { Backend } from '@cudnn-rnn/ops'
import { invalidOption } from '@cudnn-rnn/canonical/rules'
import type { Layer, LayerDefinition } from '../layer.js'
import { checkAreLayers, checkLayerOptions, doesNotFit, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { MERGES, type MergeName } from './merges.js'
import { GraphLayer } from '../model/graph_layer.js'
import { chainNodes, type GraphPlan, ModelGraph, type PlanNode, type Ref } from '../model/model_graph.js'
import { savedLayer } from '../saved_layer.js'
import type { Signal } from '../signal.js'

/** A branch: a layer, or a list of layers; an empty list is the input itself. */
export type Branch = LayerDefinition | readonly LayerDefinition[]

/** The definition of a layer that gives its input to several branches and joins their outputs. */
export function branching(kind: MergeName, branches: readonly Branch[], options: LayerOptions): LayerDefinition {
  const given = checkLayerOptions(kind, options, LAYER_OPTIONS)
  checkIsList(kind, branches)
  const chains = branches.map((branch) => (isChain(branch) ? branch : [branch]))
  for (const chain of chains) checkAreLayers(`make ${kind}`, chain)
  // A join of embeddings requires an embedding's input.
  const input = chains.map(([first]) => first?.input).find((each) => each !== undefined)
  const definition: LayerDefinition = {
    kind,
    name: given.name,
    ...(input !== undefined && { input }),
    isStepwise: chains.every((chain) => chain.every(({ isStepwise }) => isStepwise)),
    config: { branches: chains.map((chain) => chain.map(savedLayer)) },
    build(input, build) {
      if (input.features === null && chains.some((chain) => chain.length === 0)) {
        throw doesNotFit(definition, input, 'of numbers where a branch is empty')
      }
      const name = build.nameOf(given.name, MERGES[kind].base)
      const graph = new ModelGraph(planOf(kind, chains, input), build, () => name)
      return new BranchLayer(build.backend, { definition, name, input }, graph, chains)
    },
  }
  return definition
}

/** Chains that take one input, whose outputs are merged. */
function planOf(merge: MergeName, chains: readonly (readonly LayerDefinition[])[], signal: Signal): GraphPlan {
  const layers = chains.flat()
  const nodes: PlanNode[] = []
  const ends = chains.map((chain): Ref => {
    nodes.push(...chainNodes(chain.length, [0, 0], 1 + nodes.length, nodes.length))
    return chain.length === 0 ? [0, 0] : [nodes.length, 0]
  })
  nodes.push({ merge, from: ends })
  const inputs = [{ name: 'an empty branch', signal }]
  return { inputs, layers, nodes, outputs: [{ name: 'output', value: [nodes.length, 0] }] }
}

export class BranchLayer extends GraphLayer {
  readonly branches: readonly (readonly Layer[])[]

  constructor(
    backend: Backend,
    info: ConstructorParameters<typeof GraphLayer>[1],
    graph: ModelGraph,
    chains: readonly (readonly unknown[])[],
  ) {
    super(backend, info, graph)
    let end = 0
    this.branches = chains.map(({ length }) => {
      end += length
      return graph.layers.slice(end - length, end)
    })
  }
}

function isChain(branch: Branch): branch is readonly LayerDefinition[] {
  return Array.isArray(branch)
}

function checkIsList(kind: string, branches: unknown): void {
  if (Array.isArray(branches) && branches.length > 0) return
  checkAreLayers(`make ${kind}`, Array.isArray(branches) ? [undefined as never] : (branches as never))
}

/**
 * Gives its input to several branches, each a layer or a list of layers, and adds up their outputs, which have one shape. An
 * empty list is the input itself: a residual connection.
 *
 *     add([[], [cudnnLSTM({ numUnits: 64 }), dropout({ rate: 0.2 })]])   // x + f(x), [T,B,64] to [T,B,64]
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`; when the model is built RangeError `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { add, cudnnGRU, dropout, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const residual = add([[], [cudnnGRU({ numUnits: 3 }), dropout({ rate: 0.2 })]])
 * const model = sequential(backend, [residual], { inputSize: 3, seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [5, 2, 3]
 * ```
 */
export function add(branches: readonly Branch[], options: LayerOptions = {}): LayerDefinition {
  return branching('add', branches, options)
}

/**
 * Gives its input to several branches, each a layer or a list of layers, and joins their outputs along the last dimension.
 * An empty list is the input itself: a skip connection.
 *
 *     concat([lastStep(), meanOverTime(), maxOverTime()])   // [T,B,E] to [B,3·E]
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`; when the model is built RangeError `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { concat, lastStep, maxOverTime, meanOverTime, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [concat([lastStep(), meanOverTime(), maxOverTime()])], { inputSize: 1 })
 * const { data } = await model.predict({ data: Float32Array.of(3, 1, 2), shape: [3, 1, 1] }) // [T,B,E]
 * console.log(data) // [2, 2, 3]
 * ```
 */
export function concat(branches: readonly Branch[], options: LayerOptions = {}): LayerDefinition {
  return branching('concat', branches, options)
}

/**
 * Gives its input to two branches, each a layer or a list of layers, and multiplies their outputs element by element. An empty
 * list is the input itself, of which the other branch is then a mask or a gate.
 *
 *     multiply([[], [cudnnLSTM({ numUnits: 128 }), dense({ units: 257, activation: 'sigmoid' })]])   // [T,B,257] to [T,B,257]
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`; RangeError `ERR_INVALID_OPTION`; when the model is built
 *   RangeError `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { cudnnLSTM, dense, multiply, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const gate = [cudnnLSTM({ numUnits: 4 }), dense({ units: 3, activation: 'sigmoid' })]
 * const model = sequential(backend, [multiply([[], gate])], { inputSize: 3, seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [5, 2, 3]
 * ```
 */
export function multiply(branches: readonly [Branch, Branch], options: LayerOptions = {}): LayerDefinition {
  const definition = branching('multiply', branches, options)
  if (branches.length === 2) return definition
  throw invalidOption('make multiply', 'branches', 'a list of two', branches)
}
