import { elementCount } from '@cudnn-rnn/canonical'
import { FINITE, integerFrom, listOf, oneOf, optional, type OptionsOf, where } from '@cudnn-rnn/canonical/rules'
import { ConvLSTMCell } from '@cudnn-rnn/cells'
import type { LayerDefinition } from '../layer.js'
import { checkLayerOptions, doesNotFit, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { builtCell } from './cell_layer.js'

export const CONV_LSTM_ACTIVATIONS = ['tanh', 'relu', 'elu', 'softplus', 'sigmoid'] as const

const SIZE = integerFrom(1)
/** A cell has a table of the rows under each tap. */
export const MOST = { form: 2 ** 14, kernelSize: 2 ** 8 } as const
const upTo = (most: number) =>
  where(listOf(SIZE), `one or two integers in 1..${most}`, (sizes) => {
    return (sizes.length === 1 || sizes.length === 2) && sizes.every((size) => size <= most)
  })
const ACTIVATION = oneOf(CONV_LSTM_ACTIVATIONS)

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** Rows of the picture of which each step is a column, or rows and columns of the picture that each step is. */
  form: upTo(MOST.form),
  filters: SIZE,
  /** K, as many sizes of the kernel. */
  kernelSize: upTo(MOST.kernelSize),
  activation: ACTIVATION,
  recurrentActivation: oneOf([...CONV_LSTM_ACTIVATIONS, 'hard_sigmoid']),
  /** α of hard_sigmoid, α·x + 0.5 in 0..1. Default 0.2. */
  slope: optional(FINITE),
}

/**
 * The recurrence of a convolutional LSTM (Shi et al. 2015): [T,B,S·4F], the products of its input with a kernel, to [T,B,S·F], with S
 * the numbers of a form. Variable: the cell's kernel [K…,4F+F,4F], of gates in the order of TensorFlow.
 */
export function convLstm(options: LayerOptions & OptionsOf<typeof OPTIONS>): LayerDefinition {
  const kind = 'convLstm'
  const given = checkLayerOptions(kind, options, OPTIONS)
  const { name, slope, ...rest } = given
  const { form, filters, kernelSize: kernelShape, activation, recurrentActivation: gates } = rest
  const config = { ...rest, ...(slope !== undefined && { slope }) }
  const recurrentActivation = gates === 'hard_sigmoid' ? { name: gates, alpha: slope ?? 0.2 } : gates
  const positions = elementCount(form)
  const definition: LayerDefinition = {
    ...{ kind, name, config },
    sizes: () => ({ output: { isSequence: true, features: positions * filters } }),
    build(input, build) {
      const features = 4 * positions * filters
      if (input.features !== features) throw doesNotFit(definition, input, `[T,B,${features}]`)
      const sizes = {
        convNdims: form.length,
        inputShape: [...form, 4 * filters],
        outputChannels: filters,
        kernelShape,
      }
      const { dtype } = build.backend
      const cell = new ConvLSTMCell({ ...sizes, activation, recurrentActivation, dtype, useBias: false, forgetBias: 0 })
      return builtCell(definition, cell, input, build)
    },
  }
  return definition
}
