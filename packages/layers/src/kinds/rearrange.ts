import { elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError, integerFrom, listOf, optional, where } from '@cudnn-rnn/canonical/rules'
import { layer } from '../own_layer.js'

const formOf = (rule: string, most: number) =>
  where(listOf(integerFrom(0)), rule, (sizes) => sizes.length <= most && (sizes.at(-1) ?? 0) > 0)

/**
 * The numbers of each row in another form, in their order from row to row of [T,E]: a sequence as one vector, a vector as a
 * sequence. If T of both forms is 0, the sequences have any number of steps, whose numbers are rows of E.
 */
export const rearrange = layer(
  'rearrange',
  {
    /** The form of an input row, whose columns may be pictures. */
    from: formOf('[T,E], [E] or sizes of pictures', 4),
    /** The form of an output row. */
    to: formOf('[T,E] or [E]', 2),
    /** The axes of `from`, from 1 on, in the order that they get first. */
    order: optional(listOf(integerFrom(1))),
  },
  ({ from, to, order }) => {
    const [, ...inner] = from
    const columns = elementCount(inner)
    const features = to.at(-1) as number
    const isOpen = from[0] === 0
    const stepsOf = (length: number) => (isOpen ? (length * columns) / features : to[0])
    return {
      output: { isSequence: to.length === 2, features },
      outputLengths: (lengths) => lengths.map(stepsOf),
      forward: (t, x, _, { lengths }) => {
        const [first, batch] = x.shape as readonly [number, number]
        const isSequence = from.length > 1
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
        const byRow = isSequence ? t.transpose(x, [1, 0, 2]) : x
        const turned = order ? t.transpose(t.reshape(byRow, [rows, first, ...inner]), [0, ...order]) : byRow
        const formed = t.reshape(turned, to.length === 2 ? [rows, stepsOf(first), features] : [rows, features])
        return to.length === 2 ? t.transpose(formed, [1, 0, 2]) : formed
      },
    }
  },
)
