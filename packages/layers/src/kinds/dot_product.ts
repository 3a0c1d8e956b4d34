import {
  codedRangeError,
  FLAG,
  integerFrom,
  invalidOption,
  listOf,
  oneOf,
  optional,
  where,
} from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import { layer } from '../own_layer.js'
import type { Signal } from '../signal.js'

/** Keras' own. */
const SMALLEST_NORM = 1e-7

/**
 * The sums of products of two values over the steps or the columns of each. Of two sequences the steps or columns of the first that
 * are left are the steps of the result, and those of the second its columns; of a sequence and a vector its own are the columns.
 */
export const dotProduct = layer(
  'dotProduct',
  {
    /** The axis of the first and of the second value that the product sums over. A vector has columns alone. */
    over: where(
      listOf(oneOf(['steps', 'columns'])),
      'one of steps, columns for each value',
      ({ length }) => length === 2,
    ),
    /** The steps that become columns of the result. */
    steps: optional(integerFrom(1)),
    /** Each value is divided by its norm over that axis first. Default false. */
    isNormalized: optional(FLAG),
  },
  ({ over, steps, isNormalized = false }, first, [second = first]) => {
    const both = first.isSequence && second.isSequence
    const [last, ofLast] = second.isSequence ? [second, over[1]] : [first, over[0]]
    const features = !last.isSequence ? 1 : ofLast === 'steps' ? last.features : steps
    if (features === undefined)
      throw invalidOption('make dotProduct', 'steps', 'the number of steps that become columns', steps)
    const keepsSteps = both && over[0] === 'columns'
    return {
      output: { isSequence: both, features },
      outputLengths: (lengths) => (keepsSteps ? lengths : lengths.map(() => first.features)),
      forward: (t, x, _, { lengths, others: [other = { x, lengths }] = [] }) => {
        const values = [x, other.x].map((each, k) => {
          const value = t.value(each)
          if (!isNormalized) return value
          const axes = [over[k] === 'steps' ? 0 : -1]
          const norm = t.sqrt(t.sum(t.square(value), { axes, keepDims: true }))
          return t.divide(value, t.maximum(norm, SMALLEST_NORM))
        }) as [Value, Value]
        const given = [keepsSteps ? null : lengths, other.lengths]
        const summed = values.map(({ shape }, k) => shape[over[k] === 'steps' ? 0 : shape.length - 1])
        const isLong = [first, second].map(
          (signal, k) => !signal.isSequence || given[k]?.every((each) => each === values[k].shape[0]),
        )
        const counted = both ? 1 : first.isSequence ? 0 : 1
        const becomes = last.isSequence && ofLast === 'columns' ? values[counted].shape[0] : features
        if (becomes !== features || summed[0] !== summed[1] || isLong.includes(false)) {
          const expected = becomes === features ? (over[0] === 'steps' ? summed[1] : summed[0]) : features
          throw codedRangeError(
            'ERR_SEQUENCE_LENGTHS',
            `Cannot multiply sequences as each must have the ${expected} steps of the model: current ones are ${values.map(({ shape }) => shape[0]).join(' and ')}`,
            { expected },
          )
        }
        const [a, b] = ([first, second] as const).map(({ isSequence }: Signal, k) => {
          const [batch, columns] = values[k].shape as readonly [number, number]
          if (!isSequence) return t.reshape(values[k], [batch, 1, columns])
          return t.transpose(values[k], over[k] === 'columns' ? [1, 0, 2] : [1, 2, 0])
        })
        const products = t.matmul(a, b, { transposeB: true })
        return both ? t.transpose(products, [1, 0, 2]) : t.reshape(products, [products.shape[0], features])
      },
    }
  },
  1,
)
