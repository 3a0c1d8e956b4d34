import { FLAG, integerFrom, invalidOption, type OptionsOf, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { ofDtype, type Value } from '@cudnn-rnn/ops/executor'
import { layer } from '../own_layer.js'
import type { LayerPlan, VariableTable } from '../planned_layer.js'
import {
  channelsOf,
  checkSteps,
  EXTENT,
  gathered,
  isOfOneStep,
  outputHeight,
  type WindowSizes,
  windowLengths,
  windowsUnder,
} from './windows.js'

const COUNT = integerFrom(1)

const PADDING = oneOf(['valid', 'same'])

/** The mean of each channel over windows of time, and of rows; zeros of the padding do not count. */
function averaged(kind: string, sizes: WindowSizes, channels: number): LayerPlan<VariableTable> {
  const features = outputHeight(sizes) * channels
  return {
    output: { isSequence: true, features },
    outputLengths: (lengths) => windowLengths(sizes, lengths),
    isStepwise: isOfOneStep(sizes),
    forward: (t, x, _, { lengths }) => {
      const [time, batch] = x.shape as readonly [number, number]
      const under = windowsUnder(kind, x.shape, lengths, sizes, 'zeros', 'taps first')
      const { places, time: count, height } = under
      const windows = count * batch * height
      const inside = new Float64Array(windows)
      for (const [k, place] of places.entries()) if (place < time * batch * sizes.height) inside[k % windows]++
      const sums = t.sum(gathered(t, x, under, channels, [places.length / windows, windows]), { axes: [0] })
      const counts = { data: inside.map((taps) => taps || 1), shape: [windows, 1] }
      const means = t.divide(sums, ofDtype(t.backend.dtype, counts))
      return t.reshape(means, [count, batch, features])
    },
  }
}

/** The mean of each column over windows of time. */
export const averagePool1d = layer(
  'averagePool1d',
  { poolSize: COUNT, strides: COUNT, padding: PADDING },
  ({ poolSize, strides, padding }, input) =>
    averaged('averagePool1d', { height: 1, size: [poolSize, 1], strides: [strides, 1], padding }, input.features),
)

/** The mean of each channel over windows of a picture that arrives column by column. */
export const averagePool2d = layer(
  'averagePool2d',
  { height: COUNT, poolSize: EXTENT, strides: EXTENT, padding: PADDING },
  ({ poolSize: size, ...rest }, input) => {
    const sizes = { ...rest, size }
    return averaged('averagePool2d', sizes, channelsOf({ kind: 'averagePool2d', name: undefined }, input, sizes))
  },
)

const SPREAD = {
  repeats: optional(COUNT),
  /** Each is followed by zeros in place of itself. Default false. */
  isSpaced: optional(FLAG),
  croppedBefore: optional(integerFrom(0)),
  croppedAfter: optional(integerFrom(0)),
  zerosBefore: optional(integerFrom(0)),
  zerosAfter: optional(integerFrom(0)),
}

type Spread = OptionsOf<typeof SPREAD>

/** How many of `length` steps or rows are left. */
function keptOf({ croppedBefore = 0, croppedAfter = 0 }: Spread, length: number): number {
  return length - croppedBefore - croppedAfter
}

/** How many steps or rows `length` of them become. */
export function spreadLength(spread: Spread, length: number): number {
  const { repeats = 1, zerosBefore = 0, zerosAfter = 0 } = spread
  return zerosBefore + Math.max(0, keptOf(spread, length)) * repeats + zerosAfter
}

/** Each step `repeats` times, without the first and last `cropped` ones, between zeros. */
export const spreadSteps = layer('spreadSteps', SPREAD, (spread, input) => {
  const { repeats = 1, isSpaced = false, croppedBefore = 0, croppedAfter = 0, zerosBefore = 0 } = spread
  const all = (length: number) => spreadLength(spread, length)
  return {
    output: input,
    outputLengths: (lengths) => lengths.map(all),
    forward: (t, x, _, { lengths }) => {
      const [time, batch] = x.shape as readonly [number, number]
      checkSteps('spreadSteps', time, lengths, croppedBefore + croppedAfter + 1)
      const count = all(time)
      const places = Int32Array.from({ length: count * batch }, (_, k) => {
        const [step, row] = [Math.floor(k / batch) - zerosBefore, k % batch]
        const isInside =
          step >= 0 && step < keptOf(spread, lengths?.[row] ?? time) * repeats && !(isSpaced && step % repeats > 0)
        return isInside ? (Math.floor(step / repeats) + croppedBefore) * batch + row : time * batch
      })
      return gathered(t, x, { places, hasZeros: true }, input.features, [count, batch])
    },
  }
})

/** The same of the rows of a picture that arrives column by column. */
export const spreadRows = layer('spreadRows', { height: COUNT, ...SPREAD }, ({ height, ...spread }, input) => {
  const { repeats = 1, isSpaced = false, croppedBefore = 0, zerosBefore = 0, zerosAfter = 0 } = spread
  const channels = channelsOf({ kind: 'spreadRows', name: undefined }, input, { ...ROWS, height })
  const kept = keptOf(spread, height)
  if (kept < 1) throw invalidOption('make spreadRows', 'croppedBefore', 'so small that rows are left', croppedBefore)
  const features = spreadLength(spread, height) * channels
  return {
    output: { ...input, features },
    isStepwise: true,
    forward: (t, x) => {
      const leading = x.shape.slice(0, -1)
      const none = leading.map(() => 0)
      const all = t.reshape(x, [...leading, height, channels])
      const rows = t.slice(all, [...none, croppedBefore, 0], [...leading, kept, channels])
      const each = t.reshape(rows, [...leading, kept, 1, channels])
      const repeated = isSpaced
        ? t.pad(each, [...none, 0, 0, 0], [...none, 0, repeats - 1, 0])
        : t.concat(Array<Value>(repeats).fill(each), { axis: -2 })
      const between = t.reshape(repeated, [...leading, kept * repeats, channels])
      return t.reshape(t.pad(between, [...none, zerosBefore, 0], [...none, zerosAfter, 0]), [...leading, features])
    },
  }
})

/** One row is a window. */
const ROWS = { size: [1, 1], strides: [1, 1], padding: 'valid' } as const
