import { zip } from '@cudnn-rnn/canonical/rules'
import { elementCount } from '@cudnn-rnn/canonical'

/** A view over stored elements: element i of the view is `offset` + Σ iₐ · strideₐ of the store. */
export interface StridedView {
  readonly offset: number
  readonly shape: readonly number[]
  /** In elements, one of each dimension. */
  readonly strides: readonly number[]
}

/** Elements of any type; 64-bit integers are float64. */
export type Elements =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array

/** The elements of `view`, row-major; undefined if it reaches beyond `storage`. */
export function stridedElements<Storage extends Elements>(
  storage: Storage,
  { offset, shape, strides }: StridedView,
): Storage | undefined {
  // Innermost first.
  const axes = [...zip(shape, strides)].map(([size, stride]) => ({ size, stride, index: 0 })).reverse()
  const count = elementCount(shape)
  const reach = (sign: 1 | -1) =>
    axes.reduce((sum, { size, stride }) => sum + (stride * sign > 0 ? (size - 1) * stride : 0), offset)
  if (count > 0 && (reach(1) >= storage.length || reach(-1) < 0)) return undefined
  const data = new (storage.constructor as new (length: number) => Storage)(count)
  for (let to = 0, from = offset; to < count; to++) {
    // In reach, as is checked above.
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

export function rowMajorStrides(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1)
  for (let axis = shape.length - 2; axis >= 0; axis--) strides[axis] = (strides[axis + 1] ?? 1) * (shape[axis + 1] ?? 1)
  return strides
}
