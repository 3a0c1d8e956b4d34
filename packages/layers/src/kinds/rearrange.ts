import { codedRangeError, FLAG, integerFrom, listOf, optional, where } from '@cudnn-rnn/canonical/rules'
import { layer } from '../own_layer.js'

const FORM = where(listOf(integerFrom(0)), '[T,E] or [E]', (sizes) => sizes.length < 3 && (sizes.at(-1) ?? 0) > 0)

/**
 * The numbers of each row in another form, in their order from row to row of [T,E]: a sequence as one vector, a vector as a
 * sequence. If T of both forms is 0, the sequences have any number of steps, whose numbers are rows of E.
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
  ({ from, to, transposed = false }) => {
    const [, columns = 1] = from
    const features = to.at(-1) as number
    const isOpen = from[0] === 0
    const stepsOf = (length: number) => (isOpen ? (length * columns) / features : to[0])
    return {
      output: { isSequence: to.length === 2, features },
      outputLengths: (lengths) => lengths.map(stepsOf),
      forward: (t, x, _, { lengths }) => {
        const [first, batch] = x.shape as readonly [number, number]
        const isSequence = from.length === 2
        const isWrong = (length: number) => (isOpen ? (length * columns) % features !== 0 : length !== from[0])
        const wrong = isSequence ? [first, ...(lengths ?? [])].find(isWrong) : undefined
        if (wrong !== undefined) {
          const rule = isOpen ? `numbers of rows of ${features}` : `the ${from[0]} steps of the model`
          throw codedRangeError(
            'ERR_SEQUENCE_LENGTHS',
            `Cannot rearrange sequences as each must have ${rule}: the current number of steps is ${wrong}`,
            isOpen ? {} : { expected: from[0] },
          )
        }
        const rows = isSequence ? batch : first
        const byRow = isSequence ? t.transpose(x, transposed ? [1, 2, 0] : [1, 0, 2]) : x
        const formed = t.reshape(byRow, to.length === 2 ? [rows, stepsOf(first), features] : [rows, features])
        return to.length === 2 ? t.transpose(formed, [1, 0, 2]) : formed
      },
    }
  },
)
