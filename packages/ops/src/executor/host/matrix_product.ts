import type { HostProducts } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'

/** A matrix inside a typed array, as `HostProducts.addProduct` takes it. */
export type MatrixView = Parameters<HostProducts['addProduct']>[0]

// Elements are not checked by floatAt: the checks would take 1.3 times the time of a product of matrices,
// and 2.3 times for a matrix and a vector. Every index is a sum of strides within the sizes that callers have checked.

/** The row-major [rows, columns] matrix that begins at `offset`. */
export function matrix(data: FloatArray, columns: number, offset = 0): MatrixView {
  return { data, offset, rowStride: columns, columnStride: 1 }
}

/** The same elements with rows and columns exchanged; nothing is copied. */
export function transposed({ data, offset, rowStride, columnStride }: MatrixView): MatrixView {
  return { data, offset, rowStride: columnStride, columnStride: rowStride }
}

/**
 * C[M,N] += A[M,K] · B[K,N].
 *
 * Blocks of A and strips of B are copied into panels of doubles in the order in which the inner loop reads them, so that
 * transposed operands cost as much as others and nothing is converted twice. The inner loop keeps a 4 × 4 tile of C in
 * registers: eight loads feed sixteen multiply-adds, so plain JavaScript reaches a few GFLOP/s. Sums run
 * in double precision and are rounded once per {@link INNER_BLOCK} terms. (Goto & van de Geijn 2008.)
 */
export function addProduct(c: MatrixView, a: MatrixView, b: MatrixView, m: number, n: number, k: number): void {
  const tiledRows = m - (m % TILE)
  for (let start = 0; start < k; start += INNER_BLOCK) {
    const inner = Math.min(INNER_BLOCK, k - start)
    for (let row = 0; row < tiledRows; row += ROW_BLOCK) {
      const rows = Math.min(ROW_BLOCK, tiledRows - row)
      const bColumns = transposed(b)
      for (let strip = 0; strip < rows; strip += TILE) {
        pack(aPanel, strip * INNER_BLOCK, a, row + strip, start, TILE, inner)
      }
      for (let column = 0; column < n; column += TILE) {
        const columns = Math.min(TILE, n - column)
        pack(bPanel, 0, bColumns, column, start, columns, inner)
        for (let strip = 0; strip < rows; strip += TILE) {
          multiplyTile(tile, aPanel, strip * INNER_BLOCK, bPanel, inner)
          addTile(c, row + strip, column, columns)
        }
      }
    }
    if (tiledRows < m) addRows(c, a, b, tiledRows, m, n, start, inner)
  }
}

/** Rows and columns of the tile of C that stays in registers. */
const TILE = 4

/** Steps of the inner dimension per pass and rows of A per block: together a panel that fits in the second-level cache. */
const INNER_BLOCK = 256
const ROW_BLOCK = 64

// Scratch of the one product that runs at a time on a thread; no product leaves anything in it.
const aPanel = new Float64Array(ROW_BLOCK * INNER_BLOCK)
const bPanel = new Float64Array(TILE * INNER_BLOCK)
const tile = new Float64Array(TILE * TILE)

/**
 * Copies `lines` (at most 4) rows of a matrix from `firstLine` on, `inner` elements of each from `start` on, side by side:
 * panel[step·4 + line]; missing lines become zero.
 */
function pack(
  panel: Float64Array,
  panelBegin: number,
  { data: source, offset, rowStride: lineStride, columnStride: stepStride }: MatrixView,
  firstLine: number,
  start: number,
  lines: number,
  inner: number,
): void {
  const end = panelBegin + TILE * inner
  let q = offset + firstLine * lineStride + start * stepStride
  if (lines === TILE) {
    for (let p = panelBegin; p < end; p += TILE, q += stepStride) {
      panel[p] = source[q]
      panel[p + 1] = source[q + lineStride]
      panel[p + 2] = source[q + 2 * lineStride]
      panel[p + 3] = source[q + 3 * lineStride]
    }
    return
  }
  panel.fill(0, panelBegin, end)
  for (let p = panelBegin; p < end; p += TILE, q += stepStride) {
    for (let line = 0; line < lines; line++) panel[p + line] = source[q + line * lineStride]
  }
}

/**
 * tile[4,4] = (the four rows of `aPanel` at `begin`) · (the four columns of `bPanel`). The panels are arguments because a
 * bundler may turn module constants into variables, which would be loaded again at every step.
 */
function multiplyTile(
  tile: Float64Array,
  aPanel: Float64Array,
  begin: number,
  bPanel: Float64Array,
  inner: number,
): void {
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
  const end = TILE * inner
  for (let q = 0, p = begin; q < end; q += TILE, p += TILE) {
    const a0 = aPanel[p]
    const a1 = aPanel[p + 1]
    const a2 = aPanel[p + 2]
    const a3 = aPanel[p + 3]
    const b0 = bPanel[q]
    const b1 = bPanel[q + 1]
    const b2 = bPanel[q + 2]
    const b3 = bPanel[q + 3]
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
  }
  tile[0] = c00
  tile[1] = c01
  tile[2] = c02
  tile[3] = c03
  tile[4] = c10
  tile[5] = c11
  tile[6] = c12
  tile[7] = c13
  tile[8] = c20
  tile[9] = c21
  tile[10] = c22
  tile[11] = c23
  tile[12] = c30
  tile[13] = c31
  tile[14] = c32
  tile[15] = c33
}

function addTile(
  { data, offset, rowStride, columnStride }: MatrixView,
  row: number,
  column: number,
  columns: number,
): void {
  for (let i = 0; i < TILE; i++) {
    let p = offset + (row + i) * rowStride + column * columnStride
    for (let j = 0; j < columns; j++) {
      data[p] += tile[i * TILE + j]
      p += columnStride
    }
  }
}

/**
 * The last m mod 4 rows (all rows of a vector-matrix product), four columns at a time. Makes no view objects, as a step of a
 * recurrence is such a product.
 */
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
  const { data: cData, columnStride: cStride } = c
  const { data: aData, columnStride: aStride } = a
  const { data: bData, columnStride, rowStride } = b
  const bBegin = b.offset + start * rowStride
  const fullColumns = columns - (columns % 4)
  for (let row = firstRow; row < lastRow; row++) {
    const cBegin = c.offset + row * c.rowStride
    const aBegin = a.offset + row * a.rowStride + start * aStride
    for (let j = 0; j < fullColumns; j += 4) {
      let y0 = 0
      let y1 = 0
      let y2 = 0
      let y3 = 0
      let p = bBegin + j * columnStride
      let q = aBegin
      for (let step = 0; step < inner; step++) {
        const x = aData[q]
        y0 += bData[p] * x
        y1 += bData[p + columnStride] * x
        y2 += bData[p + 2 * columnStride] * x
        y3 += bData[p + 3 * columnStride] * x
        p += rowStride
        q += aStride
      }
      const r = cBegin + j * cStride
      cData[r] += y0
      cData[r + cStride] += y1
      cData[r + 2 * cStride] += y2
      cData[r + 3 * cStride] += y3
    }
    for (let j = fullColumns; j < columns; j++) {
      let y = 0
      for (let step = 0; step < inner; step++) {
        y += bData[bBegin + j * columnStride + step * rowStride] * aData[aBegin + step * aStride]
      }
      cData[cBegin + j * cStride] += y
    }
  }
}
