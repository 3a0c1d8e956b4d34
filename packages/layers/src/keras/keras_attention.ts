// Keras' layers of attention.
import type { Layer, LayerConfig } from '../layer.js'
import { ignoring, type KerasClass, type KerasOption, type KerasWeight, stated } from './keras_row.js'

/** The kernel and bias of attention: files have an axis for the heads. */
export const projection = (own: string, size: 'keySize' | 'valueSize'): KerasWeight[] => {
  const heads = (options: Readonly<Record<string, unknown>>) => [options['heads'], options[size] ?? options['keySize']]
  const isOutput = own === 'output'
  const named = (last: string) => (isOutput ? [`output/${last}`, `attention_output/${last}`] : `${own}/${last}`)
  return [
    {
      name: named('kernel'),
      shape: ([rows, units], options) => {
        const ofHeads = heads(options) as number[]
        return isOutput ? [...ofHeads, units] : [rows, ...ofHeads]
      },
    },
    {
      name: named('bias'),
      when: 'use_bias',
      shape: (own, options) => (isOutput ? own : (heads(options) as number[])),
    },
  ]
}

/** An argument of calls, not an option. */
export const IS_CAUSAL = stated(
  'isCausal',
  (options, option) => options.flag(option, false),
  () => undefined,
)

export const causal = ({ definition: { config } }: Layer) =>
  config['isCausal'] === true ? { use_causal_mask: true } : {}

export const ATTENTION_OPTIONS = {
  use_scale: {
    ...stated('isScaled', (options, option, { score }) => options.flag(option, score === 'additive')),
    write: ({ isScaled = false, score }: LayerConfig) => isScaled === true || score === 'concat',
  },
  ...ignoring('dropout', 'training', 'return_attention_scores'),
  use_causal_mask: IS_CAUSAL,
}

export const SCORE_MODE: KerasOption = {
  own: 'score',
  read: ({ options }, option) => {
    return options.choice(option, ['dot', 'concat'], 'dot') === 'concat' ? { score: 'concat' } : {}
  },
  write: ({ score }) => (score === 'concat' ? 'concat' : 'dot'),
}

export const SCORE_WEIGHT: KerasWeight = { name: 'concat_score_weight', shape: () => [] }

export const ATTENTION = {
  mask: 'attends',
  weights: [
    { name: 'scale', when: 'use_scale', absent: 1, shape: (own, { score }) => (score === 'additive' ? own : []) },
  ],
} satisfies Partial<KerasClass>
