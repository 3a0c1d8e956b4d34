import type { FloatArray } from '@cudnn-rnn/canonical'
import { fillRows, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { addToBiasGradient, type CellRun } from './cell_run.js'
import type { FloatTensor } from './float_tensor.js'

/**
 * TensorFlow's kernels multiply the concatenation [x, h]: z[M,N] = [x,h]·K[I+P,N] + b[N]. It is computed as
 * x·K[0:I] + h·K[I:] + b, so that nothing is concatenated, and so that a whole sequence's x side is one product.
 *
 * Backward from ∂z:  ∂x = ∂z·K[0:I]ᵀ   ∂h = ∂z·K[I:]ᵀ   ∂K[0:I] = xᵀ·∂z   ∂K[I:] = hᵀ·∂z   ∂b = Σ rows of ∂z
 */
export interface ConcatKernel {
  readonly kernel: FloatTensor
  /** I, the rows of `kernel` that belong to x. */
  readonly inputSize: number
}

/** z[M,N] = x[M,I]·K[0:I] + b; z must be zeros if there is no bias. */
export function inputSide(
  run: CellRun,
  z: FloatArray,
  { kernel, inputSize }: ConcatKernel,
  bias: FloatTensor | undefined,
  x: FloatArray,
): void {
  const columns = kernel.shape[1]
  const rows = z.length / columns
  if (bias !== undefined) fillRows(z, rows, columns, bias.data, 0)
  run.products.addProduct(
    matrix(z, columns),
    matrix(x, inputSize),
    matrix(kernel.data, columns),
    rows,
    columns,
    inputSize,
  )
}

/** z[M,N] += h[M,P]·K[I:], rows of z and h beginning at the given elements. */
export function addStateSide(
  run: CellRun,
  z: FloatArray,
  zBegin: number,
  { kernel, inputSize }: ConcatKernel,
  h: FloatArray,
  hBegin: number,
  rows: number,
): void {
  const [allRows, columns] = kernel.shape as [number, number]
  const stateSize = allRows - inputSize
  const weights = matrix(kernel.data, columns, inputSize * columns)
  run.products.addProduct(matrix(z, columns, zBegin), matrix(h, stateSize, hBegin), weights, rows, columns, stateSize)
}

/** ∂h[M,P] += ∂z[M,N]·K[I:]ᵀ */
export function addStateGradient(
  run: CellRun,
  dh: FloatArray,
  { kernel, inputSize }: ConcatKernel,
  dz: FloatArray,
  dzBegin: number,
  rows: number,
): void {
  const [allRows, columns] = kernel.shape as [number, number]
  const stateSize = allRows - inputSize
  const weights = transposed(matrix(kernel.data, columns, inputSize * columns))
  run.products.addProduct(matrix(dh, stateSize), matrix(dz, columns, dzBegin), weights, rows, stateSize, columns)
}

/** ∂x[M,I] += ∂z[M,N]·K[0:I]ᵀ */
export function addInputGradient(
  run: CellRun,
  dx: FloatArray,
  { kernel, inputSize }: ConcatKernel,
  dz: FloatArray,
): void {
  const columns = kernel.shape[1]
  const rows = dz.length / columns
  const weights = transposed(matrix(kernel.data, columns))
  run.products.addProduct(matrix(dx, inputSize), matrix(dz, columns), weights, rows, inputSize, columns)
}

/**
 * ∂K += [x,h]ᵀ·∂z, when the run's backward ends, and ∂b += Σ rows of ∂z in cells with a bias.
 *
 * @param x [M,I], `h` [M,P] and `dz` [M,N], which nothing may write any more.
 */
export function addKernelGradients(
  run: CellRun,
  dKernel: FloatTensor,
  dBias: FloatTensor | undefined,
  inputSize: number,
  x: FloatArray,
  h: FloatArray,
  dz: FloatArray,
): void {
  run.addToKernelGradient(dKernel, 0, inputSize, x, dz)
  run.addToKernelGradient(dKernel, inputSize, dKernel.shape[0] - inputSize, h, dz)
  if (dBias !== undefined) addToBiasGradient(dBias, dz)
}
