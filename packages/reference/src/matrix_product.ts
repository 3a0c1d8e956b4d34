import type { FloatArray } from '@cudnn-rnn/canonical'

/** A matrix inside a typed array: element (i, j) is `data[offset + i·rowStride + j·columnStride]`. */
export interface MatrixView {
  readonly data: FloatArray
  readonly offset: number
  readonly rowStride: number
  readonly columnStride: number
}

/** The row-major [rows, columns] matrix that begins at `offset`. */
export function matrix(data: FloatArray, columns: number, offset = 0): MatrixView {
  return { data, offset, rowStride: columns, columnStride: 1 }
}

/** The same elements with rows and columns exchanged; nothing is copied. */
export function transposed({ data, offset, rowStride, columnStride }: MatrixView): MatrixView {
  return { data, offset, rowStride: columnStride, columnStride: rowStride }
}

/** Steps of the inner dimension per pass, so that the operands of a tile stay in the first-level cache. */
const INNER_BLOCK = 256

/**
 * C[M,N] += A[M,K] · B[K,N].
 *
 * Sums run in double precision and are rounded once per {@link INNER_BLOCK} terms. C is cut into tiles of 4 × 4 whose
 * sixteen sums stay in registers: eight loads feed sixteen multiply-adds, which is what makes plain JavaScript reach a
 * few GFLOP/s.
 */
export function addProduct(c: MatrixView, a: MatrixView, b: MatrixView, m: number, n: number, k: number): void {
  const fullRows = m - (m % 4)
  const fullColumns = n - (n % 4)
  for (let start = 0; start < k; start += INNER_BLOCK) {
    const inner = Math.min(INNER_BLOCK, k - start)
    addTiles(c, a, b, fullRows, fullColumns, start, inner)
    if (fullColumns < n) addColumns(c, a, b, fullRows, fullColumns, n, start, inner)
    if (fullRows < m) addRows(c, a, b, fullRows, m, n, start, inner)
  }
}

function addTiles(
  c: MatrixView,
  a: MatrixView,
  b: MatrixView,
  rows: number,
  columns: number,
  start: number,
  inner: number,
): void {
  const { data: cData, rowStride: ci, columnStride: cj } = c
  const { data: aData, rowStride: ai, columnStride: ak } = a
  const { data: bData, rowStride: bk, columnStride: bj } = b
  for (let j = 0; j < columns; j += 4) {
    const bBegin = b.offset + j * bj + start * bk
    for (let i = 0; i < rows; i += 4) {
      let c00 = 0
      let c01 = 0
      let c02 = 0
      let c03 = 0
      let c10 = 0
      let c11 = 0
      let c12 = 0
      let c13 = 0
      let c20 = 0
      let c21 = 0
      let c22 = 0
      let c23 = 0
      let c30 = 0
      let c31 = 0
      let c32 = 0
      let c33 = 0
      let p = a.offset + i * ai + start * ak
      let q = bBegin
      for (let step = 0; step < inner; step++) {
        const a0 = aData[p]!
        const a1 = aData[p + ai]!
        const a2 = aData[p + 2 * ai]!
        const a3 = aData[p + 3 * ai]!
        const b0 = bData[q]!
        const b1 = bData[q + bj]!
        const b2 = bData[q + 2 * bj]!
        const b3 = bData[q + 3 * bj]!
        c00 += a0 * b0
        c01 += a0 * b1
        c02 += a0 * b2
        c03 += a0 * b3
        c10 += a1 * b0
        c11 += a1 * b1
        c12 += a1 * b2
        c13 += a1 * b3
        c20 += a2 * b0
        c21 += a2 * b1
        c22 += a2 * b2
        c23 += a2 * b3
        c30 += a3 * b0
        c31 += a3 * b1
        c32 += a3 * b2
        c33 += a3 * b3
        p += ak
        q += bk
      }
      let r = c.offset + i * ci + j * cj
      cData[r]! += c00
      cData[r + cj]! += c01
      cData[r + 2 * cj]! += c02
      cData[r + 3 * cj]! += c03
      r += ci
      cData[r]! += c10
      cData[r + cj]! += c11
      cData[r + 2 * cj]! += c12
      cData[r + 3 * cj]! += c13
      r += ci
      cData[r]! += c20
      cData[r + cj]! += c21
      cData[r + 2 * cj]! += c22
      cData[r + 3 * cj]! += c23
      r += ci
      cData[r]! += c30
      cData[r + cj]! += c31
      cData[r + 2 * cj]! += c32
      cData[r + 3 * cj]! += c33
    }
  }
}

/** The last n mod 4 columns, four rows at a time. */
function addColumns(
  c: MatrixView,
  a: MatrixView,
  b: MatrixView,
  rows: number,
  firstColumn: number,
  lastColumn: number,
  start: number,
  inner: number,
): void {
  const aBegin = a.offset + start * a.columnStride
  for (let j = firstColumn; j < lastColumn; j++) {
    const cBegin = c.offset + j * c.columnStride
    const bBegin = b.offset + start * b.rowStride + j * b.columnStride
    addMatrixVector(
      c.data,
      cBegin,
      c.rowStride,
      a.data,
      aBegin,
      a.rowStride,
      a.columnStride,
      b.data,
      bBegin,
      b.rowStride,
      rows,
      inner,
    )
  }
}

/** The last m mod 4 rows (all rows of a vector-matrix product), four columns at a time: row i of C is column i of Cᵀ = Bᵀ·Aᵀ. */
function addRows(
  c: MatrixView,
  a: MatrixView,
  b: MatrixView,
  firstRow: number,
  lastRow: number,
  columns: number,
  start: number,
  inner: number,
): void {
  const bBegin = b.offset + start * b.rowStride
  for (let i = firstRow; i < lastRow; i++) {
    const cBegin = c.offset + i * c.rowStride
    const aBegin = a.offset + i * a.rowStride + start * a.columnStride
    addMatrixVector(
      c.data,
      cBegin,
      c.columnStride,
      b.data,
      bBegin,
      b.columnStride,
      b.rowStride,
      a.data,
      aBegin,
      a.columnStride,
      columns,
      inner,
    )
  }
}

/** y[rows] += A[rows, inner]·x[inner] on bare strides, so that a step of the recurrence makes no view objects. */
function addMatrixVector(
  yData: FloatArray,
  yBegin: number,
  yStride: number,
  aData: FloatArray,
  aBegin: number,
  rowStride: number,
  columnStride: number,
  xData: FloatArray,
  xBegin: number,
  xStride: number,
  rows: number,
  inner: number,
): void {
  const fullRows = rows - (rows % 4)
  for (let i = 0; i < fullRows; i += 4) {
    let y0 = 0
    let y1 = 0
    let y2 = 0
    let y3 = 0
    let p = aBegin + i * rowStride
    let q = xBegin
    for (let step = 0; step < inner; step++) {
      const x = xData[q]!
      y0 += aData[p]! * x
      y1 += aData[p + rowStride]! * x
      y2 += aData[p + 2 * rowStride]! * x
      y3 += aData[p + 3 * rowStride]! * x
      p += columnStride
      q += xStride
    }
    const r = yBegin + i * yStride
    yData[r]! += y0
    yData[r + yStride]! += y1
    yData[r + 2 * yStride]! += y2
    yData[r + 3 * yStride]! += y3
  }
  for (let i = fullRows; i < rows; i++) {
    let y = 0
    for (let step = 0; step < inner; step++) {
      y += aData[aBegin + i * rowStride + step * columnStride]! * xData[xBegin + step * xStride]!
    }
    yData[yBegin + i * yStride]! += y
  }
}
