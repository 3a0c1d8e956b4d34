import { CELL_ACTIVATIONS, type CellActivation, type CellActivationName } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { elementwiseFunction } from '../../../src/executor/host/elementwise_function.js'

/** Values at -1.5 and 2 by keras.activations of Keras 3.15, for `affine` to `scaled_tanh` by ONNX's definitions. */
const VALUES: Readonly<Record<CellActivationName, readonly [number, number]>> = {
  tanh: [-0.905148254, 0.96402758],
  sigmoid: [0.182425524, 0.880797078],
  relu: [0, 2],
  linear: [-1.5, 2],
  elu: [-0.77686984, 2],
  exponential: [0.22313016, 7.389056099],
  gelu: [-0.100210801, 1.954499736],
  hard_sigmoid: [0.2, 0.9],
  hard_silu: [-0.375, 1.666666667],
  hard_shrink: [-1.5, 2],
  hard_tanh: [-1, 1],
  leaky_relu: [-0.015, 2],
  log_sigmoid: [-1.701413278, -0.126928011],
  mish: [-0.298099745, 1.943958932],
  relu6: [0, 2],
  selu: [-1.36581432, 2.101401974],
  silu: [-0.273638286, 1.761594156],
  soft_shrink: [-1, 1.5],
  softplus: [0.201413278, 2.126928011],
  softsign: [-0.6, 0.666666667],
  sparse_plus: [0, 2],
  squareplus: [0.5, 2.414213562],
  tanh_shrink: [-0.594851746, 1.03597242],
  affine: [-1.5, 2],
  scaled_tanh: [-0.905148254, 0.96402758],
  thresholded_relu: [0, 2],
}

const WITH_PARAMETERS: readonly CellActivation[] = [
  { name: 'hard_sigmoid', alpha: 1 / 6 },
  { name: 'elu', alpha: -0.5 },
  { name: 'elu', alpha: 0 },
  { name: 'leaky_relu', alpha: -0.3 },
  { name: 'affine', alpha: -2, beta: 0.5 },
  { name: 'scaled_tanh', alpha: 1.7, beta: 0.6 },
  { name: 'thresholded_relu', alpha: -0.4 },
]
const NAMES = Object.keys(CELL_ACTIVATIONS) as CellActivationName[]
/** On all branches, none of them at a kink. */
const POINTS = [-30, -7.3, -2.6, -1.1, -0.2, -0.01, 0.01, 0.3, 1.2, 2.4, 2.6, 5.9, 6.1, 9]

describe('elementwiseFunction', () => {
  it.each(NAMES)('%s has the values of its definition', (name) => {
    const { value } = elementwiseFunction(name)
    expect(value(-1.5)).toBeCloseTo(VALUES[name][0], 6)
    expect(value(2)).toBeCloseTo(VALUES[name][1], 6)
  })

  it.each([...NAMES, ...WITH_PARAMETERS])(
    '%j: the slope is the derivative, from the result alone if declared so',
    (f) => {
      const { value, slope, readsArgument = false } = elementwiseFunction(f)
      for (const x of POINTS) {
        const [above, below] = [value(x + 1e-5), value(x - 1e-5)]
        const expected = (above - below) / 2e-5
        const close = 1e-5 * Math.max(1, Math.abs(expected))
        for (const found of readsArgument ? [slope(value(x), x)] : [slope(value(x)), slope(value(x), x)]) {
          expect(Math.abs(found - expected), `at ${x}: ${found}, ${expected}`).toBeLessThan(close)
        }
      }
    },
  )

  it.each([...NAMES, ...WITH_PARAMETERS])('%j keeps NaN', (f) => {
    expect(elementwiseFunction(f).value(Number.NaN)).toBeNaN()
  })
})
