import { isBackendTensor } from '@cudnn-rnn/ops'
import { type GradientTape, Value } from '@cudnn-rnn/ops/executor'
import { codedRangeError } from './coded_error.js'
import { type Forwarded, forwardedOf, type LayerInput } from './forwarded.js'
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

/** The lengths of a chain's output, given its input's. */
export function chainLengths(layers: readonly Layer[], lengths: Int32Array): Int32Array {
  return layers.reduce((own, layer) => layer.outputLengths(own), lengths)
}

/** Runs layers one after another; a tensor between two is freed as soon as neither a layer nor a gradient reads it. */
export async function forwardChain(
  layers: readonly Layer[],
  t: GradientTape,
  input: LayerInput,
  pass: Pass,
): Promise<Forwarded> {
  let [x, used] = [input, 0]
  let { lengths } = pass
  const kept: Value[] = []
  for (const layer of layers) {
    const [taken, begin] = [x, used]
    used += layer.stateCount
    const own = { ...pass, lengths, states: pass.states?.slice(begin, used) ?? null }
    const result = t.scope((inner) => layer.forward(inner, taken, own))
    const forwarded = forwardedOf(t, result instanceof Promise ? await result : result)
    x = forwarded.output
    if (taken instanceof Value && taken !== input && taken !== x) t.free(taken)
    if (forwarded.states !== undefined) kept.push(...forwarded.states)
    lengths = forwarded.lengths ?? lengths
    if (lengths !== null) lengths = layer.outputLengths(lengths)
  }
  return { output: t.value(x), states: kept }
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
