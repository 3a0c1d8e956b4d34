import type { FloatArray } from '@cudnn-rnn/canonical'
import type { Elements } from './files/strided_elements.js'

export type ListedTensor = Pick<StoredTensor, 'name' | 'shape' | 'dtype'>

/** A tensor of a file, known by name and shape; its elements are read when they are requested. */
export interface StoredTensor {
  readonly name: string
  readonly shape: readonly number[]
  /** The file's own word for the element type. */
  readonly dtype: string
  /**
   * Row-major elements: float64 as stored, every other float as float32. Throws `ERR_WEIGHTS_UNSUPPORTED` for integers.
   * Tensors of one file that hold the same elements have the same function.
   */
  read(): Promise<FloatArray>
  /** Elements of integer tensors, if the format has a use for them. */
  integers?(): Promise<readonly number[] | Elements>
}
