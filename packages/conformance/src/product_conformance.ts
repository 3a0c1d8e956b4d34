import { DTYPES } from '@cudnn-rnn/ops'
import type { MatrixView } from '@cudnn-rnn/ops/executor'
import { describe, expect, test } from 'vitest'
import { expectAllclose, expectedOnce } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'

/** Rows, columns and depth: below and above the sizes from which executors choose other kernels. */
const SIZES = [
  [1, 1, 1],
  [3, 5, 7],
  [1, 130, 64],
  [2, 192, 33],
  [16, 64, 96],
  [17, 70, 48],
  [40, 33, 520],
  [100, 129, 30],
] as const

/** Products of matrices in host memory, against the sums of their definition. */
export function registerProductConformance({ open, dtype, tolerance }: ExecutorUnderTest): void {
  const { array } = DTYPES[dtype]
  /** A matrix of waves inside a larger array, its rows or its columns adjacent. */
  const matrixOf = (rows: number, columns: number, isTransposed: boolean, phase: number): MatrixView => {
    const offset = 3
    const data = Float64Array.from({ length: offset + rows * columns + 2 }, (_, k) => Math.sin(0.37 * k + phase))
    const [rowStride, columnStride] = isTransposed ? [1, rows] : [columns, 1]
    return { data: array.from(data), offset, rowStride, columnStride }
  }
  const element = ({ data, offset, rowStride, columnStride }: MatrixView, i: number, j: number) =>
    data[offset + i * rowStride + j * columnStride]

  describe('products in host memory', () => {
    test('add to the result, for matrices as stored and transposed', async () => {
      using backend = await open()
      // Executors whose memory is a device's have none.
      if (backend.products === undefined) return
      for (const [m, n, k] of SIZES) {
        for (const [isTransposedA, isTransposedB] of [
          [false, false],
          [false, true],
          [true, false],
          [true, true],
        ] as const) {
          const a = matrixOf(m, k, isTransposedA, 0)
          const b = matrixOf(k, n, isTransposedB, 1)
          const c = matrixOf(m, n, false, 2)
          const what = `${m} ${n} ${k} ${isTransposedA} ${isTransposedB}`
          const expected = expectedOnce(`${dtype} products ${what}`, () => {
            const sums = Float64Array.from(c.data)
            for (let i = 0; i < m; i++) {
              for (let j = 0; j < n; j++) {
                let sum = 0
                for (let step = 0; step < k; step++) sum += element(a, i, step) * element(b, step, j)
                sums[c.offset + i * n + j] += sum
              }
            }
            return sums
          })
          backend.products.addProduct(c, a, b, m, n, k)
          expectAllclose(what, c.data, expected, tolerance)
        }
      }
    })

    test('refuse a disposed executor', async () => {
      const backend = await open()
      const { products } = backend
      backend.dispose()
      if (products === undefined) return
      const [a, b, c] = [matrixOf(1, 1, false, 0), matrixOf(1, 1, false, 1), matrixOf(1, 1, false, 2)]
      const refused = expect.objectContaining({ code: 'ERR_BACKEND_DISPOSED' })
      expect(() => products.addProduct(c, a, b, 1, 1, 1)).toThrow(refused)
    })
  })
}
