import type { HostFunction } from './host_kernels.js'
import { addProduct, matrix, transposed } from './matrix_product.js'
import { addColumnSums, fillRows } from './rows.js'

/** y [N,O] = x [N,I]·kernel [I,O] + bias [O] */
export const linear: HostFunction<'linear'> = ([y], [x, kernel, bias], { rows, inputs, outputs }) => {
  fillRows(y, rows, outputs, bias, 0)
  addProduct(matrix(y, outputs), matrix(x, inputs), matrix(kernel, outputs), rows, outputs, inputs)
}

/** ∂x = ∂y·kernelᵀ, ∂kernel = xᵀ·∂y, ∂bias = Σ ∂y, all added to the gradients. */
export const linearGradients: HostFunction<'linearGradients'> = (
  [dInput, dKernel, dBias],
  [x, kernel, dy],
  { rows, inputs, outputs },
) => {
  const dyView = matrix(dy, outputs)
  addProduct(matrix(dInput, inputs), dyView, transposed(matrix(kernel, outputs)), rows, inputs, outputs)
  addProduct(matrix(dKernel, outputs), transposed(matrix(x, inputs)), dyView, inputs, outputs, rows)
  addColumnSums(dBias, 0, dy, rows, outputs)
}
