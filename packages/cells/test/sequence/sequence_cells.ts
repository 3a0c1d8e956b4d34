import { UGRNNCell } from '../../src/index.js'
import { float64 } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'

export const dtype = 'float64' as const
export const [T, B, I, H] = [4, 3, 2, 5] as const
export const LENGTHS = [4, 0, 2]

export const sequence = (columns: number = I, formula: readonly [number, number, number] = FILLS.x) =>
  float64(fill(T * B * columns, formula), [T, B, columns])

export function cellOf(seed = 1, units: number = H, inputSize: number = I) {
  const cell = new UGRNNCell(units, { dtype })
  cell.build(inputSize, { seed })
  return cell
}
