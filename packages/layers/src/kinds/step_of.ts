import { codedRangeError, integerFrom } from '@cudnn-rnn/canonical/rules'
import { layer } from '../own_layer.js'

/** One step of each row, counted from its first one: [T,B,E] to [B,E]. */
export const stepOf = layer('stepOf', { step: integerFrom(0) }, ({ step }, input) => ({
  output: { isSequence: false, features: input.features },
  forward: (t, x, _, { lengths }) => {
    const [time, batch, columns] = x.shape as readonly [number, number, number]
    const shortest = Math.min(time, ...(lengths ?? []))
    if (shortest <= step) {
      throw codedRangeError(
        'ERR_SEQUENCE_LENGTHS',
        `Cannot take step ${step} of sequences as each must have more steps: current number is ${shortest}`,
        { minimum: step + 1, value: shortest },
      )
    }
    return t.reshape(t.slice(x, [step, 0, 0], [1, batch, columns]), [batch, columns])
  },
}))
