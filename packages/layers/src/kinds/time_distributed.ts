import type { Layer, LayerDefinition } from '../layer.js'
import { checkIsLayer } from '../layer_list.js'
import { checkLayerOptions, doesNotFit, invalidOption, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { GraphLayer } from '../model/graph_layer.js'
import { chainPlan, ModelGraph } from '../model/model_graph.js'
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
      const graph = new ModelGraph(chainPlan([layer], input), build)
      return new TimeDistributedLayer(build.backend, { definition, name, input }, graph)
    },
  }
  return definition
}

/** A graph of one layer. */
export class TimeDistributedLayer extends GraphLayer {
  get inner(): Layer {
    return this.parts[0]
  }
}
