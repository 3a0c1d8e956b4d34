import { FINITE, integerFrom } from '@cudnn-rnn/canonical/rules'
import { ofDtype, type Value } from '@cudnn-rnn/ops/executor'
import { layer } from '../own_layer.js'

const COUNT = integerFrom(1)

/**
 * A group normalization (Wu & He 2018): gamma∘(x − mean)/√(variance + epsilon) + beta, whose mean and variance are over all steps
 * of a row, or of a vector, over each of `groups` of its channels. Padding has no weight. Variables: `gamma`, `beta` [C].
 */
export const groupNorm = layer(
  'groupNorm',
  { groups: COUNT, channels: COUNT, epsilon: FINITE },
  ({ groups, channels, epsilon }, input) => ({
    variables: { gamma: [[channels], 1], beta: [[channels], 0] },
    output: input,
    forward: (t, x, { gamma, beta }, { lengths }) => {
      const leading = x.shape.slice(0, -1)
      const rows = input.features / channels
      const size = rows * (channels / groups)
      // The columns of a group beside each other: [...,groups,rows·size].
      const inRows = t.reshape(x, [...leading, rows, groups, channels / groups])
      const order = [...leading.map((_, k) => k), leading.length + 1, leading.length, leading.length + 2]
      const inGroups = t.reshape(t.transpose(inRows, order), [...leading, groups, size])
      const options = { axes: input.isSequence ? [0, 3] : [2], keepDims: true }
      const mean = (values: Value) => {
        if (lengths === null) return t.mean(values, options)
        const [time, batch] = leading as [number, number]
        const weights = Float64Array.from({ length: time * batch }, (_, k) => {
          const length = lengths[k % batch] as number
          return Math.floor(k / batch) < length ? 1 / (length * size) : 0
        })
        const shape = [time, batch, 1, 1]
        return t.sum(t.multiply(values, ofDtype(t.backend.dtype, { data: weights, shape })), options)
      }
      const centered = t.subtract(inGroups, mean(inGroups))
      const normal = t.divide(centered, t.sqrt(t.add(mean(t.square(centered)), epsilon)))
      const again = t.reshape(normal, [...leading, groups, rows, channels / groups])
      const byChannel = t.reshape(t.transpose(again, order), [...leading, rows, channels])
      return t.reshape(t.add(t.multiply(byChannel, gamma), beta), x.shape)
    },
  }),
)
