import { codedRangeError, FLAG, integerFrom, listOf, optional, where } from '@cudnn-rnn/canonical/rules'
import { layer } from '../own_layer.js'

const FORM = where(listOf(integerFrom(1)), '[T,E] or [E]', (sizes) => sizes.length === 1 || sizes.length === 2)

/**
 * The numbers of each row in another form, in their order from row to row of [T,E]: a sequence as one vector, a vector as a
 * sequence.
 */
export const rearrange = layer(
  'rearrange',
  {
    /** The form of an input row. */
    from: FORM,
    /** The form of an output row. */
    to: FORM,
    /** Columns become steps first. Default false. */
    transposed: optional(FLAG),
  },
  ({ from, to, transposed = false }) => ({
    output: { isSequence: to.length === 2, features: to.at(-1) as number },
    outputLengths: (lengths) => lengths.map(() => to[0]),
    forward: (t, x, _, { lengths }) => {
      const [first, batch] = x.shape as readonly [number, number]
      const isSequence = from.length === 2
      if (isSequence && (first !== from[0] || lengths?.some((length) => length !== first))) {
        throw codedRangeError(
          'ERR_SEQUENCE_LENGTHS',
          `Cannot rearrange sequences as each must have the ${from[0]} steps of the model: the current number is ${lengths?.find((length) => length !== from[0]) ?? first}`,
          { expected: from[0] },
        )
      }
      const rows = isSequence ? batch : first
      const byRow = isSequence ? t.transpose(x, transposed ? [1, 2, 0] : [1, 0, 2]) : x
      const formed = t.reshape(byRow, [rows, ...to])
      return to.length === 2 ? t.transpose(formed, [1, 0, 2]) : formed
    },
  }),
)
