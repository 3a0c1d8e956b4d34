import { describe, expect, it } from 'vitest'
import { loadAddon } from '../src/cpu_backend.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

/** Largest errors in units in the last place, as docs/numerics.md states them. */
const ULPS = { float32: { sigmoid: 2.5, tanh: 3 }, float64: { sigmoid: 3, tanh: 3.5 } }

const { addon } = loadAddon()

/** |actual - expected| in units of the last place of `expected` at `digits` bits of mantissa. */
function ulps(actual: number, expected: number, digits: number): number {
  const exponent = Math.floor(Math.log2(Math.abs(expected)))
  return Math.abs(actual - expected) / 2 ** (exponent - digits)
}

for (const instructionSet of instructionSetsUnderTest('activations')) {
  describe.each(['float32', 'float64'] as const)(`activations on ${instructionSet}, %s`, (dtype) => {
    const FloatArrayOf = dtype === 'float32' ? Float32Array : Float64Array
    const digits = dtype === 'float32' ? 23 : 52
    const apply = (name: 'sigmoid' | 'tanh', values: Float32Array | Float64Array) => {
      const results = values.slice()
      addon!.activation(instructionSet, name, results)
      return results
    }

    it.each([
      ['sigmoid', (x: number) => 1 / (1 + Math.exp(-x))],
      ['tanh', Math.tanh],
    ] as const)('%s is as close to the exact value as is stated', (name, exact) => {
      const count = 1 << 16
      // Every magnitude from 1e-6 to 40, both signs.
      const x = new FloatArrayOf(count)
      for (let k = 0; k < count; k++) x[k] = (k % 2 ? -1 : 1) * 1e-6 * 4e7 ** (k / count)
      const y = apply(name, x)
      let worst = 0
      for (let k = 0; k < count; k++) worst = Math.max(worst, ulps(y[k], exact(x[k]), digits))
      expect(worst).toBeLessThan(ULPS[dtype][name])
    })

    it.each(['sigmoid', 'tanh'] as const)('%s keeps NaN, and saturates without overflow', (name) => {
      const x = new FloatArrayOf(16)
      x.set([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e30, -1e30])
      const [nan, high, low, large, small] = apply(name, x)
      expect(nan).toBeNaN()
      expect([high, large]).toEqual([1, 1])
      for (const value of [low, small]) expect(value).toBeCloseTo(name === 'tanh' ? -1 : 0, 30)
    })
  })
}
