import { elementCount } from '@cudnn-rnn/canonical'
import type { FloatTensor } from '../../src/index.js'
import { float64 } from '../cell_checks.js'

export const dtype = 'float64'

/** Element n in row-major order is ((n·a) mod m - o)/d. */
export function filled(shape: readonly number[], a: number, m: number, o: number, d: number): FloatTensor {
  const count = elementCount(shape)
  return float64(
    Float64Array.from({ length: count }, (_, n) => (((n * a) % m) - o) / d),
    shape,
  )
}

/** Rows of `columns` equal values. */
export const rows = (values: readonly number[], columns: number) =>
  float64(
    values.flatMap((value) => Array(columns).fill(value)),
    [values.length, columns],
  )
