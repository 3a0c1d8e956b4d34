import type { Tensor } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'

/** Node.js 24's Float16Array, as far as it is used here: its type is not in the language level of this project. */
export interface Float16Values extends ArrayLike<number>, ArrayBufferView {
  readonly [Symbol.toStringTag]: 'Float16Array'
}

/** A host tensor of half-precision numbers. */
export type Float16Tensor = Tensor<Float16Values>

export function isFloat16Tensor(host: Tensor | Float16Tensor): host is Float16Tensor {
  return ArrayBuffer.isView(host?.data) && (host as Float16Tensor).data[Symbol.toStringTag] === 'Float16Array'
}

/**
 * `values` rounded to the nearest half, ties to even.
 *
 * @throws TypeError `ERR_NO_FLOAT16_ARRAY` if the runtime has no Float16Array (Node.js before 24)
 */
export function asFloat16({ data, shape }: Tensor): Float16Tensor {
  const { Float16Array } = globalThis as { Float16Array?: { from(values: ArrayLike<number>): Float16Values } }
  if (Float16Array === undefined) {
    throw codedTypeError(
      'ERR_NO_FLOAT16_ARRAY',
      'Cannot read a tensor as Float16Array as this runtime has none: use Node.js 24 or later, or read()',
    )
  }
  return { data: Float16Array.from(data), shape }
}
