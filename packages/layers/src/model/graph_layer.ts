import { otherMethod } from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'
import type { GradientTape } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import { type ConfigValue, Layer, type LayerInfo, type Pass } from '../layer.js'
import type { LayerStream } from '../layer_stream.js'
import type { ModelGraph } from './model_graph.js'
import { ModelInputs } from './model_inputs.js'
import type { ModelForwarded } from './whole_model.js'

type GraphInfo = Omit<LayerInfo, 'output' | 'variables'> & Partial<Pick<LayerInfo, 'output'>>

/** The call to write if a model is called by another library's name. */
export const OF_INPUTS = 'model.predict(inputs), or model.call(batch), which keeps a tape for model.gradients'

/** A layer that is a graph of layers: a whole model, branches, or one layer at each step. */
export class GraphLayer extends Layer {
  readonly graph: ModelGraph

  constructor(backend: Backend, info: GraphInfo, graph: ModelGraph) {
    const [{ signal: output }] = graph.outputs
    super(backend, { output, ...info, variables: graph.layers.flatMap((layer) => layer.variables) })
    this.graph = graph
  }

  override get parts(): readonly Layer[] {
    return this.graph.layers
  }

  override get stateCount(): number {
    return this.graph.stateful.reduce((sum, { stateCount }) => sum + stateCount, 0)
  }

  override stateShapes(batch: number): readonly (readonly number[])[] {
    return this.graph.stateful.flatMap((layer) => layer.stateShapes(batch))
  }

  /** The lengths of the first output, from the lengths of all inputs. */
  override outputLengths(lengths: Int32Array): Int32Array {
    return this.graph.outputLengths(this.graph.inputs.map(() => lengths))[0] ?? lengths
  }

  async forward(t: GradientTape, x: LayerInput | ModelInputs, pass: Pass): Promise<ModelForwarded> {
    // A program that comes from PyTorch gives the input alone.
    if (pass === undefined) throw otherMethod('forward', 'a model', OF_INPUTS)
    const [inputs, lengths] = x instanceof ModelInputs ? [x.values, x.lengths] : [[x], [pass.lengths]]
    const result = await this.graph.forward(t, inputs, lengths, pass)
    const outputs = Object.fromEntries(this.graph.outputs.map(({ name }, k) => [name, result.outputs[k]]))
    return { output: result.outputs[0], outputs, states: result.states }
  }

  override openStream(batch: number): LayerStream {
    const { step, ...rest } = this.graph.openStream(batch)
    return { ...rest, step: async (input, rows) => (await step([input], rows))[0] }
  }

  /** By the names of the layers that draw. */
  override async randomState(): Promise<ConfigValue> {
    const states: Record<string, ConfigValue> = {}
    for (const layer of this.parts) {
      const state = await layer.randomState()
      if (state !== null) states[layer.name] = state
    }
    return Object.keys(states).length === 0 ? null : states
  }

  override restoreRandomState(state: ConfigValue): void {
    if (typeof state !== 'object' || state === null) return
    const states = new Map<string, ConfigValue>(Object.entries(state))
    for (const layer of this.parts) layer.restoreRandomState(states.get(layer.name) ?? null)
  }
}
