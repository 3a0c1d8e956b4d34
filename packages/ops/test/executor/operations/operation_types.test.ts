import { expect, it } from 'vitest'
import { ACTIVATIONS, ELEMENT_LOSSES, POOLINGS } from '../../../src/executor/operations/operation_types.js'

// Kernels number the names by their places: native/cpu/src/dense and native/cudnn/kernels have the same order.
it.each([
  ['ACTIVATIONS', ACTIVATIONS, ['tanh', 'sigmoid', 'relu', 'elu', 'softplus', 'softmax']],
  ['POOLINGS', POOLINGS, ['last', 'mean', 'max']],
  ['ELEMENT_LOSSES', ELEMENT_LOSSES, ['squared_error', 'absolute_error', 'sigmoid_cross_entropy']],
])('%s are in the order of the kernels, and a caller cannot change them', (_, names, order) => {
  expect(names).toEqual(order)
  expect(Object.isFrozen(names)).toBe(true)
})
