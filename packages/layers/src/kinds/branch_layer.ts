import type { Backend } from '@cudnn-rnn/ops'
import type { Layer, LayerDefinition } from '../layer.js'
import { checkAreLayers } from '../layer_list.js'
import { checkLayerOptions, doesNotFit, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { MERGES, type MergeName } from './merges.js'
import { GraphLayer } from '../model/graph_layer.js'
import { chainNodes, type GraphPlan, ModelGraph, type PlanNode, type Ref } from '../model/model_graph.js'
import { savedLayer } from '../saved_layer.js'
import type { Signal } from '../signal.js'

/** A branch: a layer, or a list of layers; an empty list is the input itself. */
export type Branch = LayerDefinition | readonly LayerDefinition[]

/** The definition of a layer that gives its input to several branches and joins their outputs. */
export function branching(kind: MergeName, branches: readonly Branch[], options: LayerOptions): LayerDefinition {
  checkLayerOptions(kind, options, LAYER_OPTIONS)
  checkIsList(kind, branches)
  const chains = branches.map((branch) => (isChain(branch) ? branch : [branch]))
  for (const chain of chains) checkAreLayers(`make ${kind}`, chain)
  // A join of embeddings requires an embedding's input.
  const input = chains.map(([first]) => first?.input).find((each) => each !== undefined)
  const definition: LayerDefinition = {
    kind,
    name: options.name,
    ...(input !== undefined && { input }),
    isStepwise: chains.every((chain) => chain.every(({ isStepwise }) => isStepwise)),
    config: { branches: chains.map((chain) => chain.map(savedLayer)) },
    build(input, build) {
      if (input.features === null && chains.some((chain) => chain.length === 0)) {
        throw doesNotFit(definition, input, 'of numbers where a branch is empty')
      }
      const name = build.nameOf(options.name, MERGES[kind].base)
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

/** A layer of branches. */
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
