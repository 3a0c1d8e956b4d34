import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import type { LayerDefinition } from '../layer.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { lengthsOperand } from './lengths_operand.js'
import { planned } from '../planned_layer.js'

/**
 * Past the length of a row, the row's last step: what Keras' recurrent layers give at masked steps. Columns that were computed
 * from the end of the sequence stay zero there.
 */
export function holdPadding(options: LayerOptions = {}): LayerDefinition {
  checkLayerOptions('holdPadding', options, LAYER_OPTIONS)
  const row = { kind: 'holdPadding', base: 'hold_padding', name: options.name, takes: SEQUENCE, config: {} }
  return planned(row, (input) => ({
    output: input,
    forward(t, x, _, { lengths }) {
      if (lengths === null) return t.value(x)
      const last = t.poolSequence(x, lengthsOperand(lengths), { pooling: 'last', reversedFrom: input.reversedFrom })
      return t.select(paddingOf(t.backend.dtype, x.shape, lengths, input.reversedFrom), last, x)
    },
  }))
}

/** 1 past the lengths of rows that have steps, in the columns before `held`; else 0. */
function paddingOf(dtype: FloatDType, shape: readonly number[], lengths: Int32Array, held = shape[2]) {
  const [time, batch, columns] = shape as readonly [number, number, number]
  const data = new DTYPES[dtype].array(time * batch * columns)
  for (let b = 0; b < batch; b++) {
    for (let t = lengths[b]; t < time && t > 0; t++)
      data.fill(1, (t * batch + b) * columns, (t * batch + b) * columns + held)
  }
  return { data, shape }
}
