import type { Tensor } from '@cudnn-rnn/canonical'
import { integerFrom, invalidOption, type OptionsOf, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { hostTensor } from '../forwarded.js'
import type { LayerDefinition } from '../layer.js'
import { INITIALIZER } from '../layer_build.js'
import {
  ANY_FLOATS,
  CLASS_IDS,
  checkLayerOptions,
  doesNotFit,
  LAYER_OPTIONS,
  type LayerOptions,
} from '../layer_options.js'
import { PADDINGS, withoutMasked } from './masking.js'
import { planned } from '../planned_layer.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** V, the number of class ids. */
  size: integerFrom(1),
  /** E */
  units: integerFrom(1),
  /**
   * Keras' `mask_zero`: id 0 is no step. `end` takes zeros at the end of rows alone, `anywhere` closes the gaps that others
   * leave, so that layers behind it see the steps of a row without them. Default `none`: 0 is an id as others.
   */
  maskZero: optional(oneOf(['none', ...PADDINGS])),
  /**
   * Each step has so many ids, such as the characters of a word, as numbers: [T,B,columns] to [T,B,columns·E]. Layers in a
   * `timeDistributed` with as many `steps` read them. Default: a step is one id.
   */
  columns: optional(integerFrom(1)),
  /** Default `{ uniform: 0.05 }`, as in Keras. */
  initializer: INITIALIZER,
}

interface EmbeddingOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * Class ids [T,B] (or [B], int32) to rows of a table [V,E]: [T,B,E]. Variable: `embeddings`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { embedding, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [embedding({ size: 10, units: 4 })], { seed: 1 })
 * const ids = { data: Int32Array.of(3, 1, 4, 1, 5, 9), shape: [3, 2] } // [T,B]
 * console.log((await model.predict(ids)).shape) // [3, 2, 4]
 * ```
 */
export function embedding(options: EmbeddingOptions): LayerDefinition {
  const given = checkLayerOptions('embedding', options, OPTIONS)
  const { size, units, maskZero = 'none', columns, initializer = { uniform: 0.05 } } = given
  const isOfColumns = columns !== undefined
  if (isOfColumns && maskZero !== 'none')
    throw invalidOption('make embedding', 'maskZero', 'none beside columns', maskZero)
  const row = {
    ...{
      kind: 'embedding',
      base: 'embedding',
      name: given.name,
      isStepwise: true,
      takes: isOfColumns ? ANY_FLOATS : CLASS_IDS,
    },
    config: { size, units, ...(maskZero !== 'none' && { maskZero }), ...(isOfColumns && { columns }) },
    input: { isSequence: true, features: columns ?? null },
  }
  return planned(row, (input, name) => {
    if (isOfColumns && input.features !== columns) throw doesNotFit(row, input, `[…,${columns}]`)
    return {
      variables: { embeddings: [[size, units], initializer] },
      output: { isSequence: input.isSequence, features: units * (columns ?? 1) },
      forward(t, given, { embeddings }, { lengths, isStream }) {
        if (isOfColumns) {
          return hostTensor(given).then(({ data, shape }) => {
            const ids = { data: Int32Array.from(data), shape: [data.length / columns, columns] }
            return t.reshape(t.embedding(embeddings, ids), [...shape.slice(0, -1), columns * units])
          })
        }
        if (maskZero === 'none') return t.embedding(embeddings, given)
        // A stream has no end of a row to move steps to.
        const padding = isStream ? 'end' : maskZero
        return hostTensor(given).then((host) => {
          const ids = host as Tensor<Int32Array>
          const { steps, lengths: found } = withoutMasked(name, ids, lengths, padding, (k) => ids.data[k] !== 0)
          return { output: t.embedding(embeddings, steps), lengths: found }
        })
      },
    }
  })
}
