import type { Backend } from '@cudnn-rnn/ops'
import type { GradientTape } from '@cudnn-rnn/ops/executor'
import type { Forwarded, LayerInput } from '../forwarded.js'
import { type ConfigValue, Layer, type LayerDefinition, type LayerInfo, type Pass } from '../layer.js'
import { checkAreLayers } from '../layer_list.js'
import { checkLayerOptions, doesNotFit, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import type { LayerStream } from '../layer_stream.js'
import { MERGES, type MergeName } from './merges.js'
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
      const [{ signal }] = graph.outputs
      const variables = graph.layers.flatMap((layer) => layer.variables)
      return new BranchLayer(build.backend, { definition, name, input, output: signal, variables }, graph, chains)
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
export class BranchLayer extends Layer {
  readonly branches: readonly (readonly Layer[])[]
  readonly graph: ModelGraph

  constructor(backend: Backend, info: LayerInfo, graph: ModelGraph, chains: readonly (readonly unknown[])[]) {
    super(backend, info)
    this.graph = graph
    let end = 0
    this.branches = chains.map(({ length }) => {
      end += length
      return graph.layers.slice(end - length, end)
    })
  }

  override get parts(): readonly Layer[] {
    return this.graph.layers
  }

  override outputLengths(lengths: Int32Array): Int32Array {
    return this.graph.outputLengths([lengths])[0] ?? lengths
  }

  async forward(t: GradientTape, x: LayerInput, pass: Pass): Promise<Forwarded> {
    const { outputs, states } = await this.graph.forward(t, [x], [pass.lengths], pass)
    return { output: outputs[0], states }
  }

  override openStream(batch: number): LayerStream {
    const { step, ...rest } = this.graph.openStream(batch)
    return { ...rest, step: async (input) => (await step([input]))[0] }
  }

  override async randomState(): Promise<ConfigValue> {
    const states = await Promise.all(this.parts.map((layer) => layer.randomState()))
    return states.some((state) => state !== null) ? states : null
  }

  override restoreRandomState(state: ConfigValue): void {
    if (!Array.isArray(state)) return
    for (const [index, layer] of this.parts.entries()) layer.restoreRandomState(state[index] ?? null)
  }
}

function isChain(branch: Branch): branch is readonly LayerDefinition[] {
  return Array.isArray(branch)
}

function checkIsList(kind: string, branches: unknown): void {
  if (Array.isArray(branches) && branches.length > 0) return
  checkAreLayers(`make ${kind}`, Array.isArray(branches) ? [undefined as never] : (branches as never))
}
