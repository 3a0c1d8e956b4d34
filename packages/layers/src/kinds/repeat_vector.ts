import { integerFrom, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import type { LayerDefinition } from '../layer.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { planned } from '../planned_layer.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** T, the steps of the output. */
  steps: integerFrom(1),
}

export interface RepeatVectorOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * A vector at each of T steps, [B,E] to [T,B,E], as Keras' `RepeatVector`: between the encoder and the decoder of an
 * autoencoder.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { lastStep, repeatVector, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [lastStep(), repeatVector({ steps: 3 })], { inputSize: 2 })
 * const [rows] = await model.predict([[[1, 2], [3, 4]]]) // one sequence of two steps
 * console.log(rows.shape, rows.data) // [ 3, 2 ] [ 3, 4, 3, 4, 3, 4 ]
 * ```
 */
export function repeatVector(options: RepeatVectorOptions): LayerDefinition {
  const given = checkLayerOptions('repeatVector', options, OPTIONS)
  const { steps, name } = given
  const takes = { isSequence: false, isIds: false, text: '[B,E]' }
  const row = { kind: 'repeatVector', base: 'repeat_vector', name, takes, config: { steps } }
  return planned(row, ({ features }) => ({
    output: { isSequence: true, features },
    // The new sequence does not have the lengths of the one that became the vector.
    outputLengths: (lengths) => lengths.map(() => steps),
    forward: (t, x) => t.broadcast(x, [steps, ...x.shape]),
  }))
}
