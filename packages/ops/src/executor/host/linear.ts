import type { FloatArray } from '@cudnn-rnn/canonical'
import type { KernelNumbers } from '../operations/table.js'
import { addProduct, matrix, transposed } from './matrix_product.js'
import { addColumnSums, fillRows } from './rows.js'

/** y [N,O] = x [N,I]·kernel [I,O] + bias [O] */
export function linear(
  y: FloatArray,
  x: FloatArray,
  kernel: FloatArray,
  bias: FloatArray,
  { rows, inputs, outputs }: KernelNumbers<'linear'>,
): void {
  fillRows(y, rows, outputs, bias, 0)
  addProduct(matrix(y, outputs), matrix(x, inputs), matrix(kernel, outputs), rows, outputs, inputs)
}

/** ∂x = ∂y·kernelᵀ, ∂kernel = xᵀ·∂y, ∂bias = Σ ∂y, all added to the gradients. */
export function linearGradients(
  gradients: {
    readonly input: FloatArray
    readonly kernel: FloatArray
    readonly bias: FloatArray
  },
  x: FloatArray,
  kernel: FloatArray,
  dy: FloatArray,
  { rows, inputs, outputs }: KernelNumbers<'linear'>,
): void {
  const dyView = matrix(dy, outputs)
  addProduct(matrix(gradients.input, inputs), dyView, transposed(matrix(kernel, outputs)), rows, inputs, outputs)
  addProduct(matrix(gradients.kernel, outputs), transposed(matrix(x, inputs)), dyView, inputs, outputs, rows)
  addColumnSums(gradients.bias, 0, dy, rows, outputs)
}
