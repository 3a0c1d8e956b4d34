import { required } from '@cudnn-rnn/arguments'
import { type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError } from './coded_error.js'
import type { Forwarded, LayerGradients } from './forwarded.js'
import type { Layer, LayerDefinition, Pass } from './layer.js'
import type { LayerBuild } from './layer_build.js'
import { combinedStream, type LayerStream, openStreams } from './layer_stream.js'
import { type Signal, signalText } from './signal.js'

/**
 * Builds layers in order, each for the output of the previous one. If one does not fit, the layers already built are disposed.
 *
 * @throws RangeError `ERR_LAYERS_DO_NOT_FIT`, naming both layers and their shapes
 */
export function buildChain(definitions: readonly LayerDefinition[], input: Signal, build: LayerBuild): Layer[] {
  const layers: Layer[] = []
  build.reserve(definitions.flatMap(namesIn))
  try {
    for (const definition of definitions) {
      const before = layers.at(-1)
      layers.push(built(definition, before?.output ?? input, before, build))
    }
    return layers
  } catch (error) {
    for (const layer of layers) layer.dispose()
    throw error
  }
}

/** Names that users gave to a layer and to those in its branches. */
function namesIn({ name, config = {} }: Partial<LayerDefinition>): (string | undefined)[] {
  const branches = Array.isArray(config['branches']) ? (config['branches'] as unknown as LayerDefinition[][]) : []
  return [name, ...branches.flat().flatMap(namesIn)]
}

function built(definition: LayerDefinition, input: Signal, before: Layer | undefined, build: LayerBuild): Layer {
  try {
    return definition.build(input, build)
  } catch (cause) {
    const { code, expected, layer } = cause as { code?: unknown; expected?: string; layer?: string; before?: string }
    if (code !== 'ERR_LAYERS_DO_NOT_FIT' || before === undefined || 'before' in (cause as object)) throw cause
    throw codedRangeError(
      'ERR_LAYERS_DO_NOT_FIT',
      `Cannot build the model as ${layer} takes ${expected}: ${before.name} (${before.kind}) before it gives ${signalText(input)}`,
      { layer, expected, before: before.name, actual: signalText(input), cause },
    )
  }
}

/** The lengths of a chain's output, given those of its input. */
export function chainLengths(layers: readonly Layer[], lengths: Int32Array): Int32Array {
  return layers.reduce((own, layer) => layer.outputLengths(own), lengths)
}

/** Runs layers one after another; the layers' own tensors in between are released as soon as nothing needs them. */
export async function forwardChain(
  layers: readonly Layer[],
  input: TensorLike,
  pass: Pass,
  states: readonly TensorLike[] | null,
): Promise<Forwarded> {
  const steps: Forwarded[] = []
  const kept: BackendTensor[] = []
  const release = () => {
    for (const step of steps) step.release?.()
    for (const { output } of steps.slice(0, -1)) output.dispose()
  }
  let [x, used] = [input, 0]
  let current = pass
  try {
    for (const layer of layers) {
      const own = states === null ? null : states.slice(used, used + layer.stateCount)
      used += layer.stateCount
      const step = await layer.forward(x, current, own)
      steps.push(step)
      kept.push(...(step.states ?? []))
      if (!pass.isTraining) {
        step.release?.()
        if (x !== input && isBackendTensor(x)) x.dispose()
      }
      x = step.output
      const lengths = step.lengths ?? current.lengths
      if (lengths !== null) current = { ...current, lengths: lengthsAfter(layer, lengths) }
    }
  } catch (error) {
    release()
    for (const tensor of [...kept, ...steps.map(({ output }) => output)]) tensor.dispose()
    throw error
  }
  const backward = async (outputGradient: BackendTensor): Promise<LayerGradients> => {
    const variables: (readonly BackendTensor[])[] = []
    let gradient: BackendTensor | undefined = outputGradient
    try {
      for (const step of [...steps].reverse()) {
        const upstream = required(gradient, 'only the first layer of a chain can have an input without a gradient')
        const gradients = await step.backward(upstream)
        if (upstream !== outputGradient) upstream.dispose()
        gradient = gradients.input
        variables.unshift(gradients.variables)
      }
      return { input: gradient, variables: variables.flat() }
    } catch (error) {
      if (gradient !== outputGradient) gradient?.dispose()
      for (const tensor of variables.flat()) tensor.dispose()
      throw error
    }
  }
  return { output: x as BackendTensor, backward, release: pass.isTraining ? release : undefined, states: kept }
}

function lengthsAfter(layer: Layer, lengths: Tensor<Int32Array>): Tensor<Int32Array> {
  const data = layer.outputLengths(lengths.data)
  return data === lengths.data ? lengths : { data, shape: lengths.shape }
}

/** The streams of layers as one. */
export function chainStream(layers: readonly Layer[], batch: number): LayerStream {
  const streams = openStreams(layers, (layer) => layer.openStream(batch))
  return combinedStream(streams, async (input) => {
    let x = input
    for (const stream of streams) {
      const taken = x
      try {
        x = await stream.step(taken)
      } finally {
        if (taken !== input && isBackendTensor(taken)) taken.dispose()
      }
    }
    return x
  })
}
