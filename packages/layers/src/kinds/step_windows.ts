import { integerFrom, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { ofDtype } from '@cudnn-rnn/ops/executor'
import { layer } from '../own_layer.js'
import { checkSteps, gathered, windowLengths, windowsUnder } from './window_layer.js'

const COUNT = integerFrom(1)

/** The mean of each column over windows of time; zeros of the padding do not count. */
export const averagePool1d = layer(
  'averagePool1d',
  { poolSize: COUNT, strides: COUNT, padding: oneOf(['valid', 'same']) },
  ({ poolSize, strides, padding }, input) => {
    const sizes = { height: 1, size: [poolSize, 1], strides: [strides, 1], padding } as const
    return {
      output: input,
      outputLengths: (lengths) => windowLengths(sizes, lengths),
      forward: (t, x, _, { lengths }) => {
        const [time, batch] = x.shape as readonly [number, number]
        const under = windowsUnder('averagePool1d', x.shape, lengths, sizes, 'zeros', 'taps first')
        const { places, time: count } = under
        const windows = count * batch
        const inside = new Float64Array(windows)
        for (const [k, place] of places.entries()) if (place < time * batch) inside[k % windows]++
        const sums = t.sum(gathered(t, x, under, input.features, [poolSize, windows]), { axes: [0] })
        const counts = { data: inside.map((taps) => taps || 1), shape: [windows, 1] }
        const means = t.divide(sums, ofDtype(t.backend.dtype, counts))
        return t.reshape(means, [count, batch, input.features])
      },
    }
  },
)

/** Each step `repeats` times, without the first and last `cropped` ones, between zeros. */
export const spreadSteps = layer(
  'spreadSteps',
  {
    repeats: optional(COUNT),
    croppedBefore: optional(integerFrom(0)),
    croppedAfter: optional(integerFrom(0)),
    zerosBefore: optional(integerFrom(0)),
    zerosAfter: optional(integerFrom(0)),
  },
  ({ repeats = 1, croppedBefore = 0, croppedAfter = 0, zerosBefore = 0, zerosAfter = 0 }, input) => {
    const kept = (length: number) => Math.max(0, length - croppedBefore - croppedAfter) * repeats
    const all = (length: number) => zerosBefore + kept(length) + zerosAfter
    return {
      output: input,
      outputLengths: (lengths) => lengths.map(all),
      forward: (t, x, _, { lengths }) => {
        const [time, batch] = x.shape as readonly [number, number]
        checkSteps('spreadSteps', time, lengths, croppedBefore + croppedAfter + 1)
        const count = all(time)
        const places = Int32Array.from({ length: count * batch }, (_, k) => {
          const [step, row] = [Math.floor(k / batch) - zerosBefore, k % batch]
          const isInside = step >= 0 && step < kept(lengths?.[row] ?? time)
          return isInside ? (Math.floor(step / repeats) + croppedBefore) * batch + row : time * batch
        })
        return gathered(t, x, { places, hasZeros: true }, input.features, [count, batch])
      },
    }
  },
)
