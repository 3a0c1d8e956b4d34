import { describeValue } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { LayerDefinition } from './layer.js'

/** Throws TypeError `ERR_NOT_A_LAYER`. */
export function checkIsLayer(action: string, layer: LayerDefinition): void {
  if (typeof layer?.build === 'function' && typeof layer.kind === 'string') return
  throw codedTypeError(
    'ERR_NOT_A_LAYER',
    `Cannot ${action} as every layer must be a result of dense(…), cudnnLSTM(…), …: current value is ${typeof layer === 'function' ? 'a function: call it' : describeValue(layer)}`,
    { value: layer },
  )
}

/** Throws TypeError `ERR_NOT_A_LAYER` unless `layers` is an array of layers. */
export function checkAreLayers(action: string, layers: readonly LayerDefinition[]): void {
  if (!Array.isArray(layers)) {
    throw codedTypeError(
      'ERR_NOT_A_LAYER',
      `Cannot ${action} as layers must be an array: current value is ${describeValue(layers)}`,
    )
  }
  for (const layer of layers) checkIsLayer(action, layer)
}
