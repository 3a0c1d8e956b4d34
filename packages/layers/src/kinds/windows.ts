import { elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError, integerFrom, listOf, typed, where } from '@cudnn-rnn/canonical/rules'
import { DTYPES } from '@cudnn-rnn/ops'
import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import type { LayerDefinition } from '../layer.js'
import { doesNotFit } from '../layer_options.js'
import { featuresOf, type Signal } from '../signal.js'

/** Padding of a sequence: none; zeros on both sides, so that stride 1 keeps the length; or zeros before it only. */
export const PADDINGS = ['valid', 'same', 'causal'] as const

export type Padding = (typeof PADDINGS)[number]

/** Windows over time and over the rows of a picture. TensorFlow's rules. */
interface WindowRule {
  /** Steps and rows of a window. */
  readonly size: readonly [time: number, height: number]
  readonly strides: readonly [time: number, height: number]
  /** A number is the zeros at each end of the time axis, as in PyTorch. */
  readonly padding: Padding | number
}

/** A batch of sequences of pictures' columns, each of `height` rows. */
interface WindowedBatch {
  readonly time: number
  readonly batch: number
  readonly height: number
  readonly lengths: Int32Array | null
}

/** Windows of a batch, as places in a table of its rows: place ((t·B)+b)·height + h. */
export interface Windows {
  readonly time: number
  readonly height: number
  /** [taps][time·batch·height], or with the taps innermost. Place T·B·height stands for zeros. */
  readonly places: Int32Array
  /** Whether the row of zeros is used. */
  readonly hasZeros: boolean
}

export function windowCount(count: number, size: number, stride: number, padding: Padding | number): number {
  if (padding === 'same' || padding === 'causal') return Math.ceil(count / stride)
  const padded = count === 0 || padding === 'valid' ? count : count + 2 * padding
  return padded < size ? 0 : Math.floor((padded - size) / stride) + 1
}

/** Steps of padding before the first of `count` steps. */
function paddingBefore(count: number, size: number, stride: number, padding: Padding | number): number {
  if (typeof padding === 'number') return padding
  if (padding === 'valid') return 0
  if (padding === 'causal') return size - 1
  const all = (windowCount(count, size, stride, padding) - 1) * stride + size - count
  return Math.floor(Math.max(0, all) / 2)
}

/**
 * The places under every window. A row's padding follows its own length, so that a row computes the same in any batch; windows
 * past its length hold zeros.
 *
 * @param outside places in the padding: the row of zeros, or the first place of the window that is inside, which changes no
 *   maximum.
 * @param order `taps first` as a sequence over the taps, `taps last` as columns of a product
 */
function windowsOf(
  { time, batch, height, lengths }: WindowedBatch,
  { size, strides, padding }: WindowRule,
  outside: 'zeros' | 'inside',
  order: 'taps first' | 'taps last',
): Windows {
  const [taps, zeros] = [size[0] * size[1], time * batch * height]
  const outTime = windowCount(time, size[0], strides[0], padding)
  // A padding by number belongs to time, as does a causal one: there is one row.
  const ofHeight = padding === 'same' ? padding : 'valid'
  const outHeight = windowCount(height, size[1], strides[1], ofHeight)
  const top = paddingBefore(height, size[1], strides[1], ofHeight)
  const windows = outTime * batch * outHeight
  const places = new Int32Array(windows * taps)
  const under = new Int32Array(taps)
  let hasZeros = false
  for (let b = 0; b < batch; b++) {
    const length = lengths?.[b] ?? time
    const count = windowCount(length, size[0], strides[0], padding)
    const before = paddingBefore(length, size[0], strides[0], padding)
    for (let t = 0; t < outTime; t++) {
      for (let h = 0; h < outHeight; h++) {
        let inside = zeros
        for (let tap = 0; tap < taps; tap++) {
          const at = t * strides[0] + Math.floor(tap / size[1]) - before
          const row = h * strides[1] + (tap % size[1]) - top
          const isInside = t < count && at >= 0 && at < length && row >= 0 && row < height
          under[tap] = isInside ? (at * batch + b) * height + row : -1
          if (isInside && inside === zeros) inside = under[tap]
        }
        const window = (t * batch + b) * outHeight + h
        for (let tap = 0; tap < taps; tap++) {
          let place = under[tap]
          if (place === -1) place = outside === 'inside' ? inside : zeros
          if (place === zeros) hasZeros = true
          places[order === 'taps first' ? tap * windows + window : window * taps + tap] = place
        }
      }
    }
  }
  return { time: outTime, height: outHeight, places, hasZeros }
}

/** Sizes of a layer of windows: of a sequence the height is 1, of columns of a picture the number of its rows. */
export interface WindowSizes extends WindowRule {
  readonly height: number
}

/** Rule of a size or strides along time and height. */
export const EXTENT = typed<readonly [time: number, height: number]>(
  where(listOf(integerFrom(1)), 'a list of two integers >= 1, along time and height', (sizes) => sizes.length === 2),
)

/** Columns of a step for each of its `height` rows. Throws RangeError `ERR_LAYERS_DO_NOT_FIT`. */
export function channelsOf(
  layer: Pick<LayerDefinition, 'kind' | 'name'>,
  input: Signal,
  { height, size, padding }: WindowSizes,
): number {
  const features = featuresOf(input)
  if (features % height !== 0) throw doesNotFit(layer, input, `[T,B,${height}·C]`)
  if (padding === 'valid' && height < size[1]) {
    throw doesNotFit(layer, input, `[T,B,E] of at least ${size[1]} rows: height is ${height}`)
  }
  return features / height
}

export function outputHeight({ height, size, strides, padding }: WindowSizes): number {
  return windowCount(height, size[1], strides[1], padding === 'same' ? padding : 'valid')
}

/** Whether a window takes one step, so that each is computed without the others. */
export function isOfOneStep({ size, strides }: WindowSizes): boolean {
  return size[0] === 1 && strides[0] === 1
}

export function windowLengths({ size, strides, padding }: WindowSizes, lengths: Int32Array): Int32Array {
  return lengths.map((length) => windowCount(length, size[0], strides[0], padding))
}

/**
 * Throws RangeError `ERR_SHAPE` for a row that is shorter than `minimum`, as for a batch of it alone; a row of length 0 has no
 * windows.
 *
 * @param layer its name and kind
 */
export function checkSteps(layer: string, time: number, lengths: Int32Array | null, minimum: number): void {
  const value = [time, ...(lengths ?? [])].find((length) => length > 0 && length < minimum)
  if (value === undefined) return
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot call ${layer} as a sequence must have at least ${minimum} steps: current number is ${value}`,
    { layer: layer.split(' ')[0], minimum, value },
  )
}

/** The windows of a batch [T,B,height·C]. Throws as {@link checkSteps}. */
export function windowsUnder(
  layer: string,
  [time, batch]: readonly number[],
  lengths: Int32Array | null,
  sizes: WindowSizes,
  ...[outside, order]: [outside: 'zeros' | 'inside', order: 'taps first' | 'taps last']
): Windows {
  const { size, height, padding } = sizes
  checkSteps(
    layer,
    time,
    lengths,
    padding === 'valid' ? size[0] : typeof padding === 'number' ? size[0] - 2 * padding : 1,
  )
  return windowsOf({ time, batch, height, lengths }, sizes, outside, order)
}

/**
 * The rows of x under windows, [...shape, C]; `shape` is the shape of `places`. They are gathered from a table of all rows, as an
 * embedding gathers vectors.
 */
export function gathered(
  t: GradientTape,
  x: LayerInput,
  { places, hasZeros }: Pick<Windows, 'places' | 'hasZeros'>,
  channels: number,
  shape: readonly number[],
): Value {
  const rows = t.reshape(x, [elementCount(x.shape) / channels, channels])
  const zeros = { data: new DTYPES[t.backend.dtype].array(channels), shape: [1, channels] }
  const table = hasZeros ? t.concat([rows, zeros], { axis: 0 }) : rows
  return t.embedding(table, { data: places, shape })
}
