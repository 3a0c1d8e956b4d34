import type { GradientTape } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import { type ConfigValue, Layer, type LayerDefinition, type LayerInfo, type Pass } from '../layer.js'
import type { LayerBuild } from '../layer_build.js'
import { checkIsLayer } from '../layer_list.js'
import { checkLayerOptions, doesNotFit, invalidOption, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import type { LayerStream } from '../layer_stream.js'
import { savedLayer } from '../saved_layer.js'

/**
 * Applies a layer to every step of a sequence separately, as Keras' `TimeDistributed`. Dense, dropout, normalization and
 * activations do that anyway; this makes it explicit, and refuses layers that read more than one step.
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
export function timeDistributed(layer: LayerDefinition, options: LayerOptions = {}): LayerDefinition {
  checkIsLayer('make timeDistributed', layer)
  checkLayerOptions('timeDistributed', options, LAYER_OPTIONS)
  if (layer.isStepwise !== true) {
    throw invalidOption('timeDistributed', 'layer', 'one that treats every step separately', layer.kind)
  }
  const definition: LayerDefinition = {
    kind: 'timeDistributed',
    name: options.name,
    isStepwise: true,
    config: { layer: savedLayer(layer) },
    sizes: layer.sizes,
    ...(layer.input && { input: layer.input }),
    build(input, build) {
      if (!input.isSequence) throw doesNotFit(definition, input, '[T,B,…]')
      const name = build.nameOf(options.name, 'time_distributed')
      const inner = layer.build(input, build)
      const { output, variables } = inner
      return new TimeDistributedLayer(build, { definition, name, input, output, variables }, inner)
    },
  }
  return definition
}

export class TimeDistributedLayer extends Layer {
  readonly inner: Layer

  constructor({ backend }: LayerBuild, info: LayerInfo, inner: Layer) {
    super(backend, info)
    this.inner = inner
  }

  override get parts(): readonly Layer[] {
    return [this.inner]
  }

  forward(t: GradientTape, x: LayerInput, pass: Pass) {
    return this.inner.forward(t, x, pass)
  }

  override openStream(batch: number): LayerStream {
    return this.inner.openStream(batch)
  }

  override randomState(): Promise<ConfigValue> {
    return this.inner.randomState()
  }

  override restoreRandomState(state: ConfigValue): void {
    this.inner.restoreRandomState(state)
  }
}
