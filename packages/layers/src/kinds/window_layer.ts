import { elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError, integerFrom, listOf, typed, where } from '@cudnn-rnn/canonical/rules'
import { DTYPES } from '@cudnn-rnn/ops'
import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import type { LayerDefinition } from '../layer.js'
import { doesNotFit } from '../layer_options.js'
import { featuresOf, type Signal } from '../signal.js'
import { type WindowRule, type Windows, windowCount, windowsOf } from './windows.js'

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

/** Rows of the output. */
export function outputHeight({ height, size, strides, padding }: WindowSizes): number {
  return windowCount(height, size[1], strides[1], padding === 'same' ? padding : 'valid')
}

/** Whether a window takes one step, so that each is computed without the others. */
export function isOfOneStep({ size, strides }: WindowSizes): boolean {
  return size[0] === 1 && strides[0] === 1
}

/** The lengths of rows of windows. */
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
