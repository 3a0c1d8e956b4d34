import { integerFrom, oneOf, type OptionsOf, where } from '@cudnn-rnn/canonical/rules'
import { ConvLSTMCell } from '@cudnn-rnn/cells'
import type { LayerDefinition } from '../layer.js'
import { checkLayerOptions, doesNotFit, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { builtCell } from './cell_layer.js'

export const CONV_LSTM_ACTIVATIONS = ['tanh', 'relu', 'elu', 'softplus', 'sigmoid'] as const

const SIZE = integerFrom(1)
/** A cell has a table of the rows under each tap. */
export const MOST = { height: 2 ** 14, kernelSize: 2 ** 8 } as const
const upTo = (most: number) => where(SIZE, `an integer in 1..${most}`, (size) => size <= most)
const ACTIVATION = oneOf(CONV_LSTM_ACTIVATIONS)

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** Rows of the picture of which each step is a column. */
  height: upTo(MOST.height),
  filters: SIZE,
  /** K, rows of the kernel. */
  kernelSize: upTo(MOST.kernelSize),
  activation: ACTIVATION,
  recurrentActivation: ACTIVATION,
}

/**
 * The recurrence of a convolutional LSTM (Shi et al. 2015): [T,B,height·4F], the products of its input with a kernel, to
 * [T,B,height·F]. Variable: the cell's kernel [K,4F+F,4F], of gates in the order of TensorFlow.
 */
export function convLstm(options: LayerOptions & OptionsOf<typeof OPTIONS>): LayerDefinition {
  const kind = 'convLstm'
  checkLayerOptions(kind, options, OPTIONS)
  const { name, ...config } = options
  const { height, filters, kernelSize, ...activations } = config
  const definition: LayerDefinition = {
    ...{ kind, name, config },
    sizes: () => ({ output: { isSequence: true, features: height * filters } }),
    build(input, build) {
      const features = 4 * height * filters
      if (input.features !== features) throw doesNotFit(definition, input, `[T,B,${features}]`)
      const sizes = {
        convNdims: 1,
        inputShape: [height, 4 * filters],
        outputChannels: filters,
        kernelShape: [kernelSize],
      }
      const { dtype } = build.backend
      const cell = new ConvLSTMCell({ ...sizes, ...activations, dtype, useBias: false, forgetBias: 0 })
      return builtCell(definition, cell, input, build)
    },
  }
  return definition
}
