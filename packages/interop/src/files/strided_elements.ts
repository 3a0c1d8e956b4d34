import { zip } from '@cudnn-rnn/arguments'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'

/** A view over stored elements: element i of the view is `offset` + Σ iₐ · strideₐ of the store. Strides are not negative. */
export interface StridedView {
  readonly offset: number
  readonly shape: readonly number[]
  /** In elements, one of each dimension. */
  readonly strides: readonly number[]
}

/** The elements of `view`, row-major; undefined where it reaches beyond `storage`. */
export function stridedElements(storage: FloatArray, { offset, shape, strides }: StridedView): FloatArray | undefined {
  // Innermost first.
  const axes = [...zip(shape, strides)].map(([size, stride]) => ({ size, stride, index: 0 })).reverse()
  const count = elementCount(shape)
  const last = axes.reduce((sum, { size, stride }) => sum + (size - 1) * stride, offset)
  if (count > 0 && last >= storage.length) return undefined
  const data = storage instanceof Float64Array ? new Float64Array(count) : new Float32Array(count)
  for (let to = 0, from = offset; to < count; to++) {
    // `last` is the largest index.
    data[to] = storage[from] ?? Number.NaN
    for (const axis of axes) {
      from += axis.stride
      if (++axis.index < axis.size) break
      from -= axis.stride * axis.size
      axis.index = 0
    }
  }
  return data
}
