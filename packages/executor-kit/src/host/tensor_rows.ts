import type { FloatArray } from '@cudnn-rnn/canonical'
import type { TensorRowName } from '../operations/table.js'
import type { Products, RandomDraw } from '../operations/tensor_rows.js'
import { GROUPS, viewOffset, type Walk, walkCount } from '../operations/walk.js'
import { philoxBlock } from '../philox.js'
import {
  ELEMENT_FUNCTIONS,
  type ElementFunctionName,
  elementFunctionOf,
  type ReductionName,
} from './element_functions.js'
import { floatAt } from './float_at.js'
import type { HostCompute } from './host_kernels.js'
import { addProduct, type MatrixView } from './matrix_product.js'

/** The kernels beneath all rows on tensors of any shape. Each returns the number of the operation that it queued, 0 if it is done. */
export interface TensorKernels {
  /** y = f(operands) over the walk, whose first tensor is y. */
  elements(name: ElementFunctionName, walk: Walk, y: FloatArray, operands: readonly FloatArray[]): number
  /** For each element of the walk `outer` over y and x, the reduction of x over the walk `inner` from there. */
  reduce(name: ReductionName, outer: Walk, inner: Walk, y: FloatArray, x: FloatArray): number
  /** c += a·b */
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

function drawInto(y: FloatArray, isNormal: boolean, { seedLow, seedHigh, drawLow, drawHigh }: RandomDraw): void {
  const seed = Uint32Array.of(seedLow, seedHigh)
  const counter = Uint32Array.of(0, 0, drawLow, RANDOM_COUNTER + drawHigh)
  const words = new Uint32Array(4)
  const fraction = (word: number) => (words[word] >>> 8) * 2 ** -24
  for (let k = 0; k < y.length; k++) {
    if (k % 4 === 0) {
      const block = k / 4
      counter[0] = block >>> 0
      counter[1] = Math.floor(block / 2 ** 32)
      philoxBlock(counter, seed, words)
    }
    // Two words are two normal numbers.
    const pair = (k % 4) & 2
    const angle = 2 * Math.PI * fraction(pair + 1)
    if (!isNormal) y[k] = fraction(k % 4)
    else y[k] = Math.sqrt(-2 * Math.log(1 - fraction(pair))) * (k % 2 === 0 ? Math.cos(angle) : Math.sin(angle))
  }
}

/** The kernels in TypeScript, done when they return. Elements are read unchecked where a walk is within checked shapes. */
export const HOST_TENSOR_KERNELS: TensorKernels = {
  elements(name, walk, y, operands) {
    const f = ELEMENT_FUNCTIONS[name] as (a: number, b?: number, c?: number) => number
    const [a, b = a, c = a] = operands as readonly [FloatArray, FloatArray?, FloatArray?]
    const count = walk[GROUPS - 1]
    const step = (tensor: number) => strideOf(walk, Math.min(tensor, operands.length), GROUPS - 1)
    const [yStep, aStep, bStep, cStep] = [step(0), step(1), step(2), step(3)]
    eachLine(walk, operands.length + 1, (places) => {
      let [p, q, r, s] = places as readonly number[] as [number, number, number, number]
      r ??= q
      s ??= q
      for (let k = 0; k < count; k++, p += yStep, q += aStep, r += bStep, s += cStep) {
        y[p] = f(a[q], b[r], c[s])
      }
    })
    return 0
  },
  reduce(name, outer, inner, y, x) {
    const count = inner[GROUPS - 1]
    const step = strideOf(inner, 0, GROUPS - 1)
    const elements = walkCount(inner)
    const [lines, lineStep, xStep] = [outer[GROUPS - 1], strideOf(outer, 0, GROUPS - 1), strideOf(outer, 1, GROUPS - 1)]
    eachLine(outer, 2, ([first, from]) => {
      for (let line = 0; line < lines; line++) {
        const begin = from + line * xStep
        let total = name === 'max' ? Number.NEGATIVE_INFINITY : 0
        eachLine(inner, 1, ([place]) => {
          for (let k = 0, at = begin + place; k < count; k++, at += step) {
            total = name === 'max' ? Math.max(total, floatAt(x, at)) : total + floatAt(x, at)
          }
        })
        y[first + line * lineStep] = name === 'mean' ? total / elements : total
      }
    })
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

function strideOf(walk: Walk, tensor: number, group: number): number {
  return walk[viewOffset(tensor) + 1 + group]
}

/** Calls `line` for the innermost group at each place of the others, with the element of each tensor where it begins. */
function eachLine(walk: Walk, tensors: number, line: (places: readonly number[]) => void): void {
  const begins = Array.from({ length: tensors }, (_, tensor) => walk[viewOffset(tensor)])
  const [first, second, third] = walk as readonly number[] as readonly [number, number, number]
  const places = [...begins]
  for (let i = 0; i < first; i++) {
    for (let j = 0; j < second; j++) {
      for (let k = 0; k < third; k++) {
        for (let tensor = 0; tensor < tensors; tensor++) {
          places[tensor] =
            begins[tensor] +
            i * strideOf(walk, tensor, 0) +
            j * strideOf(walk, tensor, 1) +
            k * strideOf(walk, tensor, 2)
        }
        line(places)
      }
    }
  }
}
