import { layer } from '../own_layer.js'
import { lengthsOperand } from './lengths_operand.js'

/** The sum of each column over a row's steps: [T,B,E] to [B,E]. */
export const sumOverTime = layer('sumOverTime', {}, (_, input) => ({
  output: { isSequence: false, features: input.features },
  forward: (t, x, _variables, { lengths }) => t.sum(t.maskSequence(x, lengthsOperand(lengths)), { axes: [0] }),
}))
