import * as tf from '@tensorflow/tfjs'

export const [BATCH, TIME, INPUTS, UNITS] = [3, 5, 4, 6] as const

export type LayerOptions = Record<string, unknown>
export type MakeLayer = (options: LayerOptions) => tf.RNN
export const LAYERS: Readonly<Record<string, MakeLayer>> = {
  lstm: (options) => tf.layers.lstm({ units: UNITS, ...options } as never),
  'lstm with sigmoid': (options) =>
    tf.layers.lstm({ units: UNITS, recurrentActivation: 'sigmoid', ...options } as never),
  gru: (options) => tf.layers.gru({ units: UNITS, ...options } as never),
  simpleRNN: (options) => tf.layers.simpleRNN({ units: UNITS, ...options } as never),
  stack: (options) => {
    const cells = [
      tf.layers.gruCell({ units: 5 }),
      tf.layers.lstmCell({ units: 7, recurrentActivation: 'sigmoid' }),
      tf.layers.simpleRNNCell({ units: UNITS }),
      tf.layers.lstmCell({ units: UNITS }),
    ]
    return tf.layers.rnn({ cell: cells as never, ...options } as never) as tf.RNN
  },
}

/** The layers that an executor computes: both directions', or the layer itself. */
export function computedLayers(layer: tf.layers.Layer): readonly tf.layers.Layer[] {
  const { forwardLayer, backwardLayer } = layer as unknown as Record<string, tf.layers.Layer | undefined>
  return forwardLayer === undefined || backwardLayer === undefined ? [layer] : [forwardLayer, backwardLayer]
}

export function apply(layer: tf.layers.Layer, x: tf.Tensor, given: LayerOptions = {}): tf.Tensor[] {
  return [layer.apply(x, given)].flat() as tf.Tensor[]
}
