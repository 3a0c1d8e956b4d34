import { ACTIVATIONS, type ActivationName } from '@cudnn-rnn/ops/executor'
import type { KerasOptions } from './keras_options.js'
import type { LayerDefinition } from '../layer.js'
import { activation } from '../kinds/activation.js'
import { type StepFunction, stepFunction } from '../kinds/step_function.js'

type Described = Parameters<typeof stepFunction>[0]

/** Keras' names of functions that `activation` names differently. */
const OTHERS: ReadonlyMap<string, Described> = new Map([
  ['leaky_relu', { function: 'relu', slope: 0.2 }],
  ['swish', { function: 'silu' }],
  ['hard_swish', { function: 'hard_silu' }],
  ['celu', { function: 'elu' }],
  ...ofSameName('selu', 'silu', 'gelu', 'mish', 'softsign', 'exponential', 'hard_silu', 'hard_tanh', 'log_sigmoid'),
  ...ofSameName('log_softmax', 'squareplus', 'sparse_plus', 'tanh_shrink', 'soft_shrink', 'hard_shrink'),
])

function ofSameName(...names: readonly StepFunction[]): [string, Described][] {
  return names.map((name) => [name, { function: name }])
}

const NAMES = ['linear', ...ACTIVATIONS, ...OTHERS.keys(), 'relu6', 'hard_sigmoid']

/** The activation of a layer: one that layers here have as an option, or a layer behind it. */
export function activationOf(options: KerasOptions): {
  readonly fused: ActivationName | 'linear'
  readonly behind: readonly LayerDefinition[]
} {
  const name = options.choice('activation', NAMES, 'linear')
  if (name === 'linear' || ACTIVATIONS.includes(name as ActivationName)) {
    return { fused: name as ActivationName, behind: [] }
  }
  if (name === 'relu6') return { fused: 'linear', behind: [relu6()] }
  return { fused: 'linear', behind: [stepFunction(OTHERS.get(name) ?? hardSigmoid(options))] }
}

/** Keras' function, and its operation of that name. */
export const relu6 = (name: { readonly name?: string } = {}) => activation('relu', { maximum: 6, ...name })

function hardSigmoid(options: KerasOptions): Described {
  const { major } = options
  if (major === undefined) {
    throw options.refused(
      'activation must not be hard_sigmoid in a file without a version: it is another function since Keras 3',
    )
  }
  return { function: 'hard_sigmoid', slope: major < 3 ? 0.2 : 1 / 6 }
}
