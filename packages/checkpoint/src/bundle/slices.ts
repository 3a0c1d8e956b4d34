import { elementCount } from '@cudnn-rnn/canonical/rules'
import type { SliceExtent } from './bundle_messages.js'
import { type CheckpointDType, DTYPES, type NumericArray } from './dtype.js'
import { corrupt } from '../errors.js'
import type { TensorData } from './tensor.js'

/**
 * Puts the slices of a partitioned tensor together; every element must come from exactly one slice.
 *
 * @param read the elements of one slice, row-major.
 * @throws CheckpointError `ERR_CHECKPOINT_CORRUPT` for slices that leave the tensor, overlap or leave gaps
 */
export async function assembleSlices(
  name: string,
  dtype: CheckpointDType,
  shape: readonly number[],
  slices: readonly (readonly SliceExtent[])[],
  read: (slice: readonly SliceExtent[]) => Promise<TensorData>,
): Promise<TensorData> {
  const refusal = (rule: string) => corrupt(`tensor ${name}`, rule, { tensorName: name })
  const { array, perElement, bytes } = DTYPES[dtype]
  if (array === undefined) throw refusal('strings are never partitioned')
  const placed = slices.map((slice) => {
    if (slice.length !== shape.length) throw refusal('a slice has another rank')
    return { slice, axes: shape.map((size, axis) => ({ size, ...(slice[axis] ?? { start: 0, length: size }) })) }
  })
  for (const { axes } of placed) {
    if (axes.some(({ start, length, size }) => start + length > size)) throw refusal('a slice leaves it')
  }
  const covered = placed.reduce((sum, { axes }) => sum + elementCount(axes.map(({ length }) => length)), 0)
  if (covered !== elementCount(shape)) throw refusal('its slices do not cover it')

  const whole: NumericArray = new array(new ArrayBuffer(elementCount(shape) * bytes))
  const written = new Uint8Array(elementCount(shape))
  for (const { slice, axes } of placed) {
    const part = (await read(slice)) as NumericArray
    const lengths = axes.map(({ length }) => length)
    const rowLength = lengths.at(-1) ?? 1
    for (let row = 0; row * rowLength < elementCount(lengths); row++) {
      const target = targetOffset(axes, row)
      if (written.subarray(target, target + rowLength).some((mark) => mark === 1)) throw refusal('its slices overlap')
      written.fill(1, target, target + rowLength)
      const values = part.subarray(row * rowLength * perElement, (row + 1) * rowLength * perElement)
      whole.set(values as never, target * perElement)
    }
  }
  return whole
}

/** A dimension of a tensor and the part of it that a slice has. */
interface Axis {
  readonly size: number
  readonly start: number
  readonly length: number
}

/** The start of row `row` of a slice (its last dimension) in the whole tensor, in elements. */
function targetOffset(axes: readonly Axis[], row: number): number {
  const [last, ...outer] = axes.toReversed()
  let offset = last?.start ?? 0
  let stride = last?.size ?? 1
  let rest = row
  for (const { size, start, length } of outer) {
    offset += (start + (rest % length)) * stride
    rest = Math.floor(rest / length)
    stride *= size
  }
  return offset
}
