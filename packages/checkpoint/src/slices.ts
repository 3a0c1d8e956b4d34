import { required } from '@cudnn-rnn/arguments'
import type { SliceExtent } from './bundle_messages.js'
import { type CheckpointDType, DTYPES, type NumericArray } from './dtype.js'
import { CheckpointError } from './errors.js'
import { elementCount, type TensorData } from './tensor.js'

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
  const corrupt = (rule: string) =>
    new CheckpointError('ERR_CHECKPOINT_CORRUPT', `Cannot read tensor ${name} as ${rule}`, { tensorName: name })
  const { array, perElement, bytes } = DTYPES[dtype]
  if (array === undefined) throw corrupt('strings are never partitioned')
  const extents = slices.map((slice) => {
    if (slice.length !== shape.length) throw corrupt('a slice has another rank')
    return slice.map((extent, axis) => extent ?? { start: 0, length: required(shape[axis], 'a dimension') })
  })
  for (const slice of extents) {
    if (slice.some(({ start, length }, axis) => start + length > required(shape[axis], 'a dimension')))
      throw corrupt('a slice leaves it')
  }
  const covered = extents.reduce((sum, slice) => sum + elementCount(slice.map(({ length }) => length)), 0)
  if (covered !== elementCount(shape)) throw corrupt('its slices do not cover it')

  const whole: NumericArray = new array(new ArrayBuffer(elementCount(shape) * bytes))
  const written = new Uint8Array(elementCount(shape))
  for (const [index, slice] of extents.entries()) {
    const part = (await read(required(slices[index], 'a slice'))) as NumericArray
    const lengths = slice.map(({ length }) => length)
    const rowLength = lengths.at(-1) ?? 1
    for (let row = 0; row * rowLength < elementCount(lengths); row++) {
      const target = targetOffset(shape, slice, row, lengths)
      if (written.subarray(target, target + rowLength).some((mark) => mark === 1)) throw corrupt('its slices overlap')
      written.fill(1, target, target + rowLength)
      const values = part.subarray(row * rowLength * perElement, (row + 1) * rowLength * perElement)
      whole.set(values as never, target * perElement)
    }
  }
  return whole
}

/** Where row `row` of a slice (its last dimension) begins in the whole tensor, in elements. */
function targetOffset(
  shape: readonly number[],
  slice: readonly { readonly start: number }[],
  row: number,
  lengths: readonly number[],
): number {
  let offset = slice.at(-1)?.start ?? 0
  let stride = shape.at(-1) ?? 1
  let rest = row
  for (let axis = shape.length - 2; axis >= 0; axis--) {
    offset +=
      (required(slice[axis], 'the extent of a dimension').start +
        (rest % required(lengths[axis], 'the length of a dimension'))) *
      stride
    rest = Math.floor(rest / required(lengths[axis], 'the length of a dimension'))
    stride *= required(shape[axis], 'a dimension')
  }
  return offset
}
