import { describe, expect, it } from 'vitest'
import type { MatrixView } from '../../../src/executor/host/matrix_product.js'
import { addProduct, matrix, transposed } from '../../../src/executor/host/matrix_product.js'

/** Σ_k A[i,k]·B[k,j] straight from the definition. */
function productElement(a: MatrixView, b: MatrixView, i: number, j: number, k: number): number {
  let sum = 0
  for (let n = 0; n < k; n++) {
    sum +=
      a.data[a.offset + i * a.rowStride + n * a.columnStride] * b.data[b.offset + n * b.rowStride + j * b.columnStride]
  }
  return sum
}

/** Small integers: every sum is exact in float32 too, so results must be equal, not close. */
function integers(length: number, seed: number): number[] {
  return Array.from({ length }, (_, index) => ((index * 7 + seed * 13) % 9) - 4)
}

describe.each([Float32Array, Float64Array])('addProduct in %o', (ArrayType) => {
  it.each([
    [1, 1, 1],
    [1, 9, 5],
    [3, 4, 2],
    [4, 4, 4],
    [5, 7, 3],
    [8, 13, 257],
    [67, 6, 300],
    [70, 33, 5],
    [2, 3, 600],
    [4, 4, 0],
  ])('adds the product of [%i,·]·[·,%i] over %i terms, plain and transposed', (m, n, k) => {
    const plainA = matrix(ArrayType.from(integers(m * k, 1)), k)
    const turnedA = transposed(matrix(ArrayType.from(integers(m * k, 2)), m))
    const plainB = matrix(ArrayType.from(integers(k * n, 3)), n)
    const turnedB = transposed(matrix(ArrayType.from(integers(k * n, 4)), k))
    for (const a of [plainA, turnedA]) {
      for (const b of [plainB, turnedB]) {
        const c = matrix(new ArrayType(m * n + 3).fill(2), n, 1)
        addProduct(c, a, b, m, n, k)
        const expected = Array.from(
          { length: m * n },
          (_, index) => 2 + productElement(a, b, Math.floor(index / n), index % n, k),
        )
        expect([...c.data.slice(1, 1 + m * n)]).toEqual(expected)
        expect([c.data[0], ...c.data.slice(1 + m * n)]).toEqual([2, 2, 2])
      }
    }
  })
})
