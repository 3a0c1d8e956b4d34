import { codedRangeError, integerFrom, optional } from '@cudnn-rnn/canonical/rules'
import { layer } from '../own_layer.js'

const COUNT = integerFrom(1)

/** A factor and an offset of each of `channels` columns, which repeat. Variables: `factor`, `offset` [C]. */
export const columnScale = layer('columnScale', { channels: COUNT }, ({ channels }, input) => ({
  variables: { factor: [[channels], 1], offset: [[channels], 0] },
  output: input,
  isStepwise: true,
  forward: (t, x, { factor, offset }) => {
    const byChannel = t.reshape(x, [...x.shape.slice(0, -1), input.features / channels, channels])
    return t.reshape(t.add(t.multiply(byChannel, factor), offset), x.shape)
  },
}))

/** relu with a slope of each column below 0. Variable: `slope` [E], or of each of so many `steps` [T,E]. */
export const columnSlope = layer('columnSlope', { steps: optional(COUNT) }, ({ steps }, input) => ({
  variables: { slope: [[...(steps === undefined ? [] : [steps]), input.features], 0] },
  output: input,
  isStepwise: steps === undefined,
  forward: (t, x, { slope }) => {
    if (steps !== undefined && x.shape[0] !== steps) {
      throw codedRangeError(
        'ERR_SEQUENCE_LENGTHS',
        `Cannot take a slope of each step as sequences must have the ${steps} steps of the model: current number is ${x.shape[0]}`,
        { expected: steps },
      )
    }
    const slopes = steps === undefined ? slope : t.reshape(slope, [steps, 1, input.features])
    return t.add(t.maximum(x, 0), t.multiply(t.minimum(x, 0), slopes))
  },
}))
