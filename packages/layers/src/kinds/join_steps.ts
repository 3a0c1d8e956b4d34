import { codedRangeError, integerFrom } from '@cudnn-rnn/canonical/rules'
import { layer } from '../own_layer.js'
import { gathered } from './windows.js'

/** Limit of the values that a layer joins. */
const MOST = 99

/** The steps of a sequence, and behind them the steps of others of as many columns. */
export const joinSteps = layer(
  'joinSteps',
  {},
  (_, input) => ({
    output: input,
    outputLengths: (lengths, others = []) =>
      lengths.map((length, row) => others.reduce((sum, each) => sum + (each?.[row] ?? 0), length)),
    forward: (t, x, _, { lengths, others = [] }) => {
      const all = [{ x, lengths }, ...others]
      const values = all.map((each) => t.value(each.x))
      const joined = t.concat(values, { axis: 0 })
      const given = all.flatMap((each) => [...(each.lengths ?? [])])
      if (given.length === 0) return joined
      const [time, batch] = joined.shape as [number, number]
      if (given.length < all.length * batch) {
        throw codedRangeError(
          'ERR_SEQUENCE_LENGTHS',
          'Cannot join steps as the lengths of all of the sequences must be given, or of none',
        )
      }
      // Steps of each row move together.
      const places = new Int32Array(time * batch).fill(time * batch)
      const counts = new Int32Array(batch)
      let first = 0
      for (const [k, { shape }] of values.entries()) {
        for (let row = 0; row < batch; row++) {
          for (let step = 0; step < given[k * batch + row]; step++)
            places[counts[row]++ * batch + row] = (first + step) * batch + row
        }
        first += shape[0] as number
      }
      return gathered(t, joined, { places, hasZeros: true }, input.features, [time, batch])
    },
  }),
  MOST,
)

/** The columns of values behind each other in each of `rows` that a step has. */
export const joinColumns = layer(
  'joinColumns',
  { rows: integerFrom(1) },
  ({ rows }, input, others) => {
    const features = others.reduce((sum, each) => sum + each.features, input.features)
    return {
      output: { ...input, features },
      forward: (t, x, _, { others = [] }) => {
        const values = [x, ...others.map((each) => t.value(each.x))]
        const byRow = values.map((value) => {
          const [time, batch, columns] = value.shape as readonly [number, number, number]
          return t.reshape(value, [time, batch, rows, columns / rows])
        })
        const [time, batch] = x.shape as readonly [number, number]
        return t.reshape(t.concat(byRow), [time, batch, features])
      },
    }
  },
  MOST,
)
