import { entryOf } from '@cudnn-rnn/canonical/rules'
import { addRow, fillRows, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { addToBiasGradient } from './cell_run.js'
import type { HostValue, StepTape } from './step_tape.js'

/**
 * z [B,N] = [x_0, x_1, …]·K + b, with K and b variables of the cell. Nothing is concatenated: z is the sum of the products of
 * each operand with its own rows of K.
 *
 * @param operands [B, ·] each, their columns together the rows of K.
 * @param bias absent for none.
 */
export function linear(
  tape: StepTape,
  operands: readonly HostValue[],
  kernelName: string,
  biasName?: string,
): HostValue {
  const kernel = tape.variable(kernelName)
  const columns = kernel.shape[kernel.shape.length - 1]
  const { rows } = operands[0]
  const z = tape.newArray(rows * columns)
  if (biasName !== undefined) fillRows(z, rows, columns, tape.variable(biasName).data, 0)
  const parts = operandRows(operands)
  for (const { operand, begin } of parts) {
    const weights = matrix(kernel.data, columns, begin * columns)
    tape.run.products.addProduct(
      matrix(z, columns),
      matrix(operand.data, operand.columns),
      weights,
      rows,
      columns,
      operand.columns,
    )
  }
  return tape.result(z, [...operands[0].shape.slice(0, -1), columns], (dz, gradients) => {
    for (const { operand, begin } of parts) {
      const weights = transposed(matrix(kernel.data, columns, begin * columns))
      const count = operand.columns
      tape.run.products.addProduct(matrix(operand.gradient, count), matrix(dz, columns), weights, rows, count, columns)
      tape.run.addToKernelGradient(entryOf(gradients, kernelName), begin, count, operand.data, dz)
    }
    if (biasName !== undefined) addToBiasGradient(entryOf(gradients, biasName), dz)
  })
}

/** x + b, with the bias of every row a variable of the cell. */
export function addBias(tape: StepTape, x: HostValue, biasName: string): HostValue {
  const { rows, columns } = x
  const z = x.data.slice()
  const bias = tape.variable(biasName).data
  for (let row = 0; row < rows; row++) addRow(z, row * columns, bias, 0, columns)
  return tape.result(z, x.shape, (dz, gradients) => {
    addRow(x.gradient, 0, dz, 0, dz.length)
    addToBiasGradient(entryOf(gradients, biasName), dz)
  })
}

/** x∘v, with the factors of every row a variable of the cell. */
export function scaled(tape: StepTape, x: HostValue, vectorName: string): HostValue {
  const { columns } = x
  const { data: factors } = tape.variable(vectorName)
  const y = x.data.map((value, k) => value * factors[k % columns])
  return tape.result(y, x.shape, (dy, gradients) => {
    const dx = x.gradient
    for (let k = 0; k < dx.length; k++) dx[k] += dy[k] * factors[k % columns]
    addToBiasGradient(
      entryOf(gradients, vectorName),
      dy.map((value, k) => value * x.data[k]),
    )
  })
}

function operandRows(operands: readonly HostValue[]) {
  let begin = 0
  return operands.map((operand) => {
    const part = { operand, begin }
    begin += operand.columns
    return part
  })
}
