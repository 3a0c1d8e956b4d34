import { DTYPES } from '@cudnn-rnn/ops'
import {
  ELEMENT_FUNCTIONS,
  elementFunctionOf,
  type Products,
  type RandomDraw,
  REDUCTIONS,
  TENSOR_ROWS,
  type TensorRowName,
  viewOffset,
  type Walk,
  walkCount,
} from '@cudnn-rnn/ops/executor'
import type { KernelFields } from '../device/command_list.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK } from '../device/device_kernels.js'
import { CUBLAS_OP } from '../sys/cudnn_enums.js'
import { multiply } from '../device/matrix_products.js'
import type { Operation, RowLaunch } from './operation.js'

/** Adds the commands of any row, of the operands of which it computes. */
type Fill<Read = readonly DeviceBuffer[]> = (
  on: OnDevice,
  y: DeviceBuffer,
  read: Read,
  // biome-ignore lint/suspicious/noExplicitAny: numbers of any row
  numbers: any,
) => void

/** An operation that is being built. */
interface OnDevice {
  readonly operation: Operation
  readonly name: TensorRowName
  /** The elements of the result. */
  readonly count: number
}

/** Up to so many elements one thread adds up; a block of threads takes more. */
const FEW_ELEMENTS = 32

/** y = f(a, b, c), or parts of y one behind the other. */
const elements: Fill = ({ operation, name, count }, y, read, { walks }: { readonly walks: readonly Walk[] }) => {
  const rule = ELEMENT_FUNCTIONS.indexOf(elementFunctionOf(name))
  const written = walks.reduce((sum, walk) => sum + walkCount(walk), 0)
  if (written < count) operation.list.add('clear', { to: y, offset: 0, bytes: y.bytes })
  for (const [k, walk] of walks.entries()) {
    const [a, b, c] = walks.length === 1 ? read : [read[k]]
    const own = walkCount(walk)
    const fields = { y, a, b, c, count: own, rule, n1: walk[1], n2: walk[2], n3: walk[3] }
    for (const [tensor, key] of ['y', 'a', 'b', 'c'].entries()) Object.assign(fields, strides(key, walk, tensor))
    operation.each('elements', own, fields as unknown as KernelFields<'elements'>)
  }
}

/** The start of a walk's tensor and its strides, by the names of kernels; 0 for one that there is not. */
function strides(tensor: string, walk: Walk, view: number): Readonly<Record<string, number>> {
  const [begin = 0, ...four] = walk.slice(viewOffset(view))
  return {
    [`${tensor}Begin`]: begin,
    ...Object.fromEntries([0, 1, 2, 3].map((group) => [`${tensor}${group}`, four[group] ?? 0])),
  }
}

const reduce: Fill = (
  { operation, name, count },
  y,
  [x],
  { outer, inner }: Readonly<Record<'outer' | 'inner', Walk>>,
) => {
  const fields = {
    ...{ y, x, count, length: walkCount(inner), rule: (REDUCTIONS as readonly string[]).indexOf(name) },
    ...{ n1: outer[1], n2: outer[2], n3: outer[3], ...strides('x', outer, 1) },
    ...{ m1: inner[1], m2: inner[2], m3: inner[3], ...strides('z', inner, 0) },
  } as unknown as KernelFields<'reduce_each'>
  if (fields.length <= FEW_ELEMENTS) operation.each('reduce_each', count, fields)
  else operation.list.launch('reduce_by_blocks', count, BLOCK, fields)
}

/** Row-major products, whose operands change places for cuBLAS, as {@link multiply} has it. */
const products: Fill = ({ operation: { executor, list } }, y, [a, b], numbers: Products) => {
  const { arithmetic } = executor
  const { count, steps, rows, columns, inner, transposeA, transposeB } = numbers
  const [left, right] = [transposeA ? rows : inner, transposeB ? inner : columns]
  if (count === 1 || inner === 0) {
    const factors = [
      { buffer: a, stride: left, transposed: transposeA },
      { buffer: b, stride: right, transposed: transposeB },
    ] as const
    multiply(list, arithmetic, { buffer: y }, [rows, inner, columns], ...factors)
    return
  }
  const transposition = (isTransposed: boolean) => (isTransposed ? CUBLAS_OP.transpose : CUBLAS_OP.none)
  list.add('matrixProducts', {
    ...{ opA: transposition(transposeB), opB: transposition(transposeA), m: columns, n: rows, k: inner },
    ...{
      a: b,
      lda: right,
      strideA: steps[2],
      b: a,
      ldb: left,
      strideB: steps[1],
      c: y,
      ldc: columns,
      strideC: steps[0],
    },
    ...{ batchCount: count, typeA: arithmetic.cublasType, computeType: arithmetic.cublasCompute },
  })
}

const oneHot: Fill = ({ operation, count }, y, [ids], { classes }: { readonly classes: number }) =>
  operation.each('one_hot', count, { y, ids, count, classes })

const draw: Fill = ({ operation, name, count }, y, _, { seedLow, seedHigh, drawLow, drawHigh }: RandomDraw) => {
  const fields = { y, count, isNormal: Number(name === 'normal'), seedLow, seedHigh, drawLow, drawHigh }
  operation.each('random_numbers', count, fields)
}

/** Rows that are not a function of elements. */
const OTHERS: Readonly<Partial<Record<TensorRowName, Fill>>> = {
  ...{ sum: reduce, mean: reduce, max: reduce, matmul: products, oneHot, uniform: draw, normal: draw },
}

/** The rows on tensors of any shape on the device: each is one segment of kernels. */
export const TENSOR_LAUNCHES = Object.fromEntries(
  (Object.keys(TENSOR_ROWS) as TensorRowName[]).map((name) => {
    const launch = (operation: Operation, read: readonly DeviceBuffer[], y: DeviceBuffer, numbers: unknown) => {
      const count = y.bytes / DTYPES[operation.executor.memory.dtype].bytes
      if (count > 0) (OTHERS[name] ?? elements)({ operation, name, count }, y, read, numbers)
    }
    return [name, { action: TENSOR_ROWS[name].action, launch }]
  }),
) as unknown as { readonly [Name in TensorRowName]: RowLaunch<Name> }
