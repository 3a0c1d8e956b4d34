import { integerFrom, invalidOption, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { GradientTape } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import type { Layer, LayerDefinition, Pass } from '../layer.js'
import {
  checkAreLayers,
  checkIsLayer,
  checkLayerOptions,
  doesNotFit,
  LAYER_OPTIONS,
  type LayerOptions,
} from '../layer_options.js'
import { type LayerStream, statelessStream } from '../layer_stream.js'
import { GraphLayer } from '../model/graph_layer.js'
import { chainPlan, ModelGraph } from '../model/model_graph.js'
import type { ModelForwarded } from '../model/whole_model.js'
import { savedLayer } from '../saved_layer.js'
import { featuresOf, type Signal } from '../signal.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** Rows of a picture of which each step is a column: the layer is applied to each row. Default 1. */
  height: optional(integerFrom(1)),
  /** Number of steps of the sequence in each step, which the layers read. Default: a step is a vector. */
  steps: optional(integerFrom(1)),
}

interface TimeDistributedOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * Applies a layer to every step of a sequence separately, as Keras' `TimeDistributed`. Dense, dropout, normalization and
 * activations do that anyway; this makes it explicit, and refuses layers that read more than one step. With `steps` each step
 * [steps·C] is a sequence, which one or more layers read: a network over the words of each sentence.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { dense, sequential, timeDistributed } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [timeDistributed(dense({ units: 2 }))], { inputSize: 3, seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [5, 2, 2]
 * ```
 */
export function timeDistributed(
  layer: LayerDefinition | readonly LayerDefinition[],
  options: TimeDistributedOptions = {},
): LayerDefinition {
  const given = checkLayerOptions('timeDistributed', options, OPTIONS)
  const { steps } = given
  if (steps !== undefined) return ofSequences([layer].flat(), { ...given, steps })
  checkIsLayer('make timeDistributed', layer as LayerDefinition)
  return ofSteps(layer as LayerDefinition, given)
}

function ofSteps(layer: LayerDefinition, options: TimeDistributedOptions): LayerDefinition {
  if (!isOfSteps(layer, { isSequence: true, features: 1 })) {
    throw invalidOption('make timeDistributed', 'layer', 'one that treats every step separately', layer.kind)
  }
  const { height = 1 } = options
  const definition: LayerDefinition = {
    kind: 'timeDistributed',
    name: options.name,
    isStepwise: true,
    config: { layer: savedLayer(layer), ...(height > 1 && { height }) },
    sizes(input) {
      const sizes = layer.sizes?.(rowOf(input, height)) ?? { output: rowOf(input, height) }
      return { ...sizes, output: { ...sizes.output, features: height * featuresOf(sizes.output) } }
    },
    ...(layer.input && height === 1 && { input: layer.input }),
    build(input, build) {
      if (!input.isSequence) throw doesNotFit(definition, input, '[T,B,…]')
      if (height > 1 && featuresOf(input) % height !== 0) throw doesNotFit(definition, input, `[T,B,${height}·C]`)
      const name = build.nameOf(options.name, 'time_distributed')
      const graph = new ModelGraph(chainPlan([layer], rowOf(input, height)), build)
      return new TimeDistributedLayer(build.backend, { definition, name, input }, graph, height)
    },
  }
  return definition
}

/** Layers over the sequence that each step is. */
function ofSequences(
  layers: readonly LayerDefinition[],
  { name: given, height, steps }: TimeDistributedOptions & { readonly steps: number },
): LayerDefinition {
  checkAreLayers('make timeDistributed', layers)
  if (layers.length === 0) throw invalidOption('make timeDistributed', 'layer', 'a layer, or some', layers)
  if (height !== undefined) throw invalidOption('make timeDistributed', 'height', 'absent beside steps', height)
  const definition: LayerDefinition = {
    kind: 'timeDistributed',
    name: given,
    isStepwise: true,
    config: { layers: layers.map(savedLayer), steps },
    build(input, build) {
      const columns = (input.features ?? 0) / steps
      if (!input.isSequence || columns < 1 || !Number.isInteger(columns))
        throw doesNotFit(definition, input, `[T,B,${steps}·C]`)
      const name = build.nameOf(given, 'time_distributed')
      const graph = new ModelGraph(chainPlan(layers, { isSequence: true, features: columns }), build)
      return new SequencesLayer(build.backend, { definition, name, input }, graph, steps)
    },
  }
  return definition
}

function rowOf(input: Signal, height: number): Signal {
  return height === 1 ? input : { ...input, features: featuresOf(input) / height }
}

/** Whether a layer computes each step of such an input without the others. */
export function isOfSteps({ isStepwise, sizes }: LayerDefinition, input: Signal): boolean {
  const own = sizes?.(input)
  return isStepwise === true || (own?.isStepwise === true && own.output.isSequence === input.isSequence)
}

/** A graph of one layer, which is applied to each of the rows of a step. */
export class TimeDistributedLayer extends GraphLayer {
  readonly height: number

  constructor(...[backend, info, graph, height]: [...ConstructorParameters<typeof GraphLayer>, height: number]) {
    const [{ signal }] = graph.outputs
    super(backend, { ...info, output: { ...signal, features: height * featuresOf(signal) } }, graph)
    this.height = height
  }

  get inner(): Layer {
    return this.parts[0]
  }

  override async forward(t: GradientTape, x: LayerInput, pass: Pass): Promise<ModelForwarded> {
    if (this.height === 1) return super.forward(t, x, pass)
    const [time, batch] = x.shape as [number, number]
    const rows = t.reshape(x, [time, batch * this.height, featuresOf(this.input) / this.height])
    const { output, ...rest } = await super.forward(t, rows, { ...pass, lengths: null })
    return { output: t.reshape(output, [time, batch, featuresOf(this.output)]), ...rest }
  }

  override openStream(batch: number): LayerStream {
    return this.height === 1 ? super.openStream(batch) : statelessStream((x) => this.step(x))
  }
}

/** A graph of layers, which reads the sequence that each step is from zero states. */
export class SequencesLayer extends GraphLayer {
  readonly steps: number

  constructor(...[backend, info, graph, steps]: [...ConstructorParameters<typeof GraphLayer>, steps: number]) {
    const [{ signal }] = graph.outputs
    const [lengths] = graph.outputLengths([Int32Array.of(steps)])
    const features = (signal.isSequence ? (lengths?.[0] ?? steps) : 1) * featuresOf(signal)
    super(backend, { ...info, output: { isSequence: true, features } }, graph)
    this.steps = steps
  }

  override get stateCount(): number {
    return 0
  }

  override stateShapes(): readonly (readonly number[])[] {
    return []
  }

  override outputLengths(lengths: Int32Array): Int32Array {
    return lengths
  }

  override async forward(t: GradientTape, x: LayerInput): Promise<ModelForwarded> {
    const { steps } = this
    const [time, batch] = x.shape as [number, number]
    const rows = t.reshape(x, [time * batch, steps, featuresOf(this.input) / steps])
    const pass = { lengths: null, states: null, keepsStates: false, isStream: false }
    const { output } = await super.forward(t, t.transpose(rows, [1, 0, 2]), pass)
    const byStep = output.shape.length === 3 ? t.transpose(output, [1, 0, 2]) : output
    const made = t.reshape(byStep, [time, batch, featuresOf(this.output)])
    return { output: made, outputs: { output: made }, states: [] }
  }

  override openStream(): LayerStream {
    return statelessStream((x) => this.step(x))
  }
}
