import type { FloatArray } from '@cudnn-rnn/canonical'
import type { TensorRowName } from '../operations/table.js'
import type { Products, RandomDraw } from '../operations/tensor_rows.js'
import { GROUPS, viewOffset, type Walk, walkCount } from '../operations/walk.js'
import { eachWord } from '../operations/dropout_mask.js'
import { type ElementFunctionName, elementFunctionOf, elementValue, type ReductionName } from './element_functions.js'
import type { HostCompute } from './host_kernels.js'
import { addProduct, type MatrixView } from './matrix_product.js'

/** The kernels beneath all rows on tensors of any shape. Each returns the number of the operation that it queued, 0 if it is done. */
export interface TensorKernels {
  /** y = f(operands) over the walk, whose first tensor is y. */
  elements(name: ElementFunctionName, walk: Walk, y: FloatArray, operands: readonly FloatArray[]): number
  /** For each element of the walk `outer` over y and x, the reduction of x over the walk `inner` from there. */
  reduce(name: ReductionName, outer: Walk, inner: Walk, y: FloatArray, x: FloatArray): number
  /** c = a·b, of zeros in c. */
  products(products: Products, c: FloatArray, a: FloatArray, b: FloatArray): number
}

/** One row on tensors of any shape, by the kernels of an executor in host memory. */
export function tensorRow(kernels: TensorKernels, name: TensorRowName): HostCompute {
  switch (name) {
    case 'matmul':
      return ([c], [a, b], numbers) => kernels.products(numbers as never, c, a, b)
    case 'sum':
    case 'mean':
    case 'max':
      return ([y], [x], { outer, inner }) => kernels.reduce(name, outer, inner, y, x)
    case 'oneHot':
      return ([y], [ids], { classes }) => {
        for (const [row, id] of (ids as Int32Array).entries()) y[row * classes + id] = 1
        return 0
      }
    case 'uniform':
    case 'normal':
      return ([y], _, numbers) => {
        drawInto(y, name === 'normal', numbers as unknown as RandomDraw)
        return 0
      }
    case 'concat':
    case 'stack':
      return ([y], [inputs], { walks }) => {
        let job = 0
        for (const [k, x] of (inputs as readonly FloatArray[]).entries()) {
          job = kernels.elements('copy', walks[k], y, [x])
        }
        return job
      }
    default: {
      const elementFunction = elementFunctionOf(name)
      return ([y], operands, { walks: [walk] }) => kernels.elements(elementFunction, walk, y, operands)
    }
  }
}

/** Added to the fourth word of the counter, where masks of dropout have 2^25. */
const RANDOM_COUNTER = 2 ** 26

function drawInto(y: FloatArray, isNormal: boolean, draw: RandomDraw): void {
  const fraction = (word: number) => (word >>> 8) * 2 ** -24
  eachWord(y.length, draw, RANDOM_COUNTER, (k, words) => {
    // Two words are two normal numbers.
    const pair = (k % 4) & 2
    const angle = 2 * Math.PI * fraction(words[pair + 1])
    if (!isNormal) y[k] = fraction(words[k % 4])
    else y[k] = Math.sqrt(-2 * Math.log(1 - fraction(words[pair]))) * (k % 2 === 0 ? Math.cos(angle) : Math.sin(angle))
  })
}

/** Up to this many elements, a loop copies faster than a call of the engine. */
const SHORT_LINE = 16

/** The kernels in TypeScript, done when they return. */
export const HOST_TENSOR_KERNELS: TensorKernels = {
  elements(name, walk, y, operands) {
    const [a, b = a, c = a] = operands
    const last = operands.length
    const [atY, atA, atB, atC] = [
      viewOffset(0),
      viewOffset(1),
      viewOffset(Math.min(last, 2)),
      viewOffset(Math.min(last, 3)),
    ]
    const [yStep, aStep, bStep, cStep] = [
      walk[atY + GROUPS],
      walk[atA + GROUPS],
      walk[atB + GROUPS],
      walk[atC + GROUPS],
    ]
    const count = walk[GROUPS - 1]
    const isWhole = name === 'copy' && yStep === 1 && aStep === 1 && count > SHORT_LINE
    for (let line = 0; line < linesOf(walk); line++) {
      let p = placeOf(walk, atY, line)
      let q = placeOf(walk, atA, line)
      let r = last > 1 ? placeOf(walk, atB, line) : q
      let s = last > 2 ? placeOf(walk, atC, line) : r
      if (isWhole) {
        y.set(a.subarray(q, q + count), p)
        continue
      }
      // The arithmetic of most calls without the switch, in a fifth of the time.
      if (name === 'multiply') {
        for (let k = 0; k < count; k++, p += yStep, q += aStep, r += bStep) y[p] = a[q] * b[r]
      } else if (name === 'add') {
        for (let k = 0; k < count; k++, p += yStep, q += aStep, r += bStep) y[p] = a[q] + b[r]
      } else {
        for (let k = 0; k < count; k++, p += yStep, q += aStep, r += bStep, s += cStep) {
          y[p] = elementValue(name, a[q], b[r], c[s])
        }
      }
    }
    return 0
  },
  reduce(name, outer, inner, y, x) {
    const [lines, length, elements] = [linesOf(outer), outer[GROUPS - 1], walkCount(inner)]
    const [atY, atX] = [viewOffset(0), viewOffset(1)]
    for (let line = 0; line < lines; line++) {
      let [p, q] = [placeOf(outer, atY, line), placeOf(outer, atX, line)]
      for (let k = 0; k < length; k++, p += outer[atY + GROUPS], q += outer[atX + GROUPS]) {
        const total = reduced(name === 'max', inner, x, q)
        y[p] = name === 'mean' ? total / elements : total
      }
    }
    return 0
  },
  products(products, c, a, b) {
    eachProduct(products, c, a, b, addProduct)
    return 0
  },
}

/** Calls `multiply` for each product, with its matrices and sizes. */
export function eachProduct(
  { count, steps: [cStep, aStep, bStep], rows, columns, inner, transposeA, transposeB }: Products,
  c: FloatArray,
  a: FloatArray,
  b: FloatArray,
  multiply: typeof addProduct,
): void {
  const view = (data: FloatArray, offset: number, width: number, isTransposed = false): MatrixView => ({
    ...{ data, offset },
    ...(isTransposed ? { rowStride: 1, columnStride: width } : { rowStride: width, columnStride: 1 }),
  })
  for (let k = 0; k < count; k++) {
    const left = view(a, k * aStep, transposeA ? rows : inner, transposeA)
    const right = view(b, k * bStep, transposeB ? inner : columns, transposeB)
    multiply(view(c, k * cStep, columns), left, right, rows, columns, inner)
  }
}

/** The sum of the elements of a walk from `begin` on, or the largest. */
function reduced(isLargest: boolean, walk: Walk, x: FloatArray, begin: number): number {
  const at = viewOffset(0)
  const [count, step] = [walk[GROUPS - 1], walk[at + GROUPS]]
  let total = isLargest ? Number.NEGATIVE_INFINITY : 0
  for (let line = 0; line < linesOf(walk); line++) {
    let p = begin + placeOf(walk, at, line)
    for (let k = 0; k < count; k++, p += step) total = isLargest ? Math.max(total, x[p]) : total + x[p]
  }
  return total
}

/** Innermost groups of a walk. */
function linesOf(walk: Walk): number {
  return walk[0] * walk[1] * walk[2]
}

/** The start of a line in the tensor whose numbers are from `at` on. */
function placeOf(walk: Walk, at: number, line: number): number {
  if (line === 0) return walk[at]
  const third = line % walk[2]
  const rest = (line - third) / walk[2]
  const second = rest % walk[1]
  const first = (rest - second) / walk[1]
  return walk[at] + first * walk[at + 1] + second * walk[at + 2] + third * walk[at + 3]
}
