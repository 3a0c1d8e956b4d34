import { expect } from 'vitest'
import { type CellState, mapState } from '../src/cell/cell_state.js'
import type { FloatTensor } from '../src/cell/float_tensor.js'
import type { RNNCell } from '../src/index.js'
import { fill } from './goldens.js'

/** A float64 tensor of these values. */
export function float64(values: ArrayLike<number>, shape: readonly number[]): FloatTensor {
  return { data: Float64Array.from(values), shape }
}

/** A float32 tensor of these values. */
export function float32(values: ArrayLike<number>, shape: readonly number[]): FloatTensor {
  return { data: Float32Array.from(values), shape }
}

/** Asserts |actual - expected| <= tolerance · max(1, largest |expected|), naming the worst element. */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
  what: string,
): void {
  expect(actual.length, `${what}: length`).toBe(expected.length)
  let scale = 1
  let worst = { index: 0, error: 0 }
  for (let index = 0; index < expected.length; index++) {
    scale = Math.max(scale, Math.abs(expected[index]))
    const error = Math.abs(actual[index] - expected[index])
    if (!(error <= worst.error)) worst = { index, error }
  }
  const { index, error } = worst
  expect(error / scale, `${what}[${index}]: ${actual[index]} instead of ${expected[index]}`).toBeLessThanOrEqual(
    tolerance,
  )
}

/** Central differences lose about ε^(2/3) of 1; at float64 and a step of 1e-5 that leaves 1e-10, far inside the 1e-7 asserted. */
const STEP = 1e-5

/** Asserts that `gradient` is the derivative of `loss` with respect to each element of `values`. `loss` reads `values` at each call. */
export function expectGradient(values: FloatTensor, gradient: FloatTensor, loss: () => number, what: string): void {
  const numeric = Array.from(values.data, (value, index) => {
    values.data[index] = value + STEP
    const above = loss()
    values.data[index] = value - STEP
    const below = loss()
    values.data[index] = value
    return (above - below) / (2 * STEP)
  })
  expectClose(gradient.data, numeric, 1e-7, what)
}

/** A cell of a table under one type; each is only given states that it made itself. */
export function anyState(cell: unknown): RNNCell<CellState> {
  return cell as RNNCell<CellState>
}

/** Every leaf filled, in the structure of `state`. */
export function filledLike<State extends CellState>(state: State, formula: readonly [number, number, number]): State {
  return mapState<FloatTensor, FloatTensor>([state], ([leaf]) =>
    float64(fill(leaf.data.length, formula), leaf.shape),
  ) as State
}

/** The tensors of a state. */
export function leaves(state: CellState): FloatTensor[] {
  const found: FloatTensor[] = []
  mapState<FloatTensor, FloatTensor>([state], ([leaf]) => {
    found.push(leaf)
    return leaf
  })
  return found
}

/** Σ of the products of corresponding elements. */
export function dot(a: FloatTensor, b: FloatTensor): number {
  let sum = 0
  for (let k = 0; k < a.data.length; k++) sum += a.data[k] * b.data[k]
  return sum
}

/** Like {@link dot}, over all tensors of two states. */
export function dotState(a: CellState, b: CellState): number {
  return leaves(a).reduce((sum, leaf, k) => sum + dot(leaf, leaves(b)[k]), 0)
}
