import { describe, expect, test } from 'vitest'
import { ACTIVATIONS, type ActivationName, activate } from '../src/activation.js'

const NAMES = Object.keys(ACTIVATIONS) as ActivationName[]
/** Points on all branches, none of them within 1e-3 of a kink. */
const POINTS = [-30, -7.3, -2.6, -2.4, -1, -0.2, -0.01, 0.01, 0.3, 1, 2.4, 2.6, 5.9, 6.1, 30]

describe('an activation', () => {
  test.each<[ActivationName, readonly (readonly [number, number])[]]>([
    [
      'elu',
      [
        [-1, Math.exp(-1) - 1],
        [0, 0],
        [2, 2],
      ],
    ],
    [
      'hardSigmoid',
      [
        [-2.5, 0],
        [-3, 0],
        [0, 0.5],
        [1, 0.7],
        [2.5, 1],
        [9, 1],
      ],
    ],
    [
      'linear',
      [
        [-3, -3],
        [4, 4],
      ],
    ],
    [
      'relu',
      [
        [-1, 0],
        [0, 0],
        [3, 3],
      ],
    ],
    [
      'relu6',
      [
        [-1, 0],
        [3, 3],
        [6, 6],
        [7, 6],
      ],
    ],
    [
      'sigmoid',
      [
        [0, 0.5],
        [Math.log(3), 0.75],
        [-Math.log(3), 0.25],
      ],
    ],
    [
      'softplus',
      [
        [0, Math.log(2)],
        [Math.log(3), Math.log(4)],
        [-Math.log(3), Math.log(4 / 3)],
      ],
    ],
    [
      'softsign',
      [
        [-1, -0.5],
        [0, 0],
        [3, 0.75],
      ],
    ],
    [
      'tanh',
      [
        [0, 0],
        [Math.log(2), 0.6],
        [-Math.log(2), -0.6],
      ],
    ],
  ])('%s has the values of its definition', (name, pairs) => {
    for (const [x, y] of pairs) expect(ACTIVATIONS[name].value(x)).toBeCloseTo(y, 12)
  })

  test.each(NAMES)('%s: the slope from the result is the derivative by central differences', (name) => {
    const { value, slope } = ACTIVATIONS[name]
    for (const x of POINTS) {
      const difference = (value(x + 1e-4) - value(x - 1e-4)) / 2e-4
      expect(slope(value(x)), `at ${x}`).toBeCloseTo(difference, 6)
    }
  })

  test.each(NAMES)('%s keeps NaN, and has no NaN for numbers however large', (name) => {
    const { value, slope } = ACTIVATIONS[name]
    expect(value(Number.NaN)).toBeNaN()
    for (const x of [-1e5, 1e5, -3e38, 3e38]) {
      expect(value(x)).not.toBeNaN()
      expect(slope(value(x))).not.toBeNaN()
    }
  })

  test('tanh is within 1e-7 of that of the language', () => {
    for (let x = -20; x <= 20; x += 0.0137)
      expect(Math.abs(ACTIVATIONS.tanh.value(x) - Math.tanh(x))).toBeLessThan(1e-7)
  })
})

describe('activate', () => {
  test('changes the elements of its range in place, and no others', () => {
    const values = Float32Array.of(-1, -2, -3, 4, -5)
    activate(ACTIVATIONS.relu, values, 1, 3)
    expect([...values]).toEqual([-1, 0, 0, 4, -5])
    activate(ACTIVATIONS.relu, values, 4, 0)
    expect(values[4]).toBe(-5)
  })
})
