import type { TensorLike } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import {
  ELEMENT_FUNCTIONS,
  elementFunctionOf,
  type Products,
  type RandomDraw,
  REDUCTIONS,
  type RowKernels,
  TENSOR_ROWS,
  type TensorRowName,
  viewOffset,
  type Walk,
  walkCount,
} from '@cudnn-rnn/ops/executor'
import type { CommandList, KernelFields } from '../device/command_list.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK, launchEach } from '../device/device_kernels.js'
import { CUBLAS_OP } from '../sys/cudnn_enums.js'
import { multiply } from './matrix_products.js'
import { computed } from './operation.js'

type Shapes = readonly (readonly number[])[]
/** A kernel for any row, of the operands of which it computes. */
// biome-ignore lint/suspicious/noExplicitAny: numbers of any row
type Fill<Read = readonly DeviceBuffer[]> = (on: OnDevice, y: DeviceBuffer, read: Read, numbers: any) => void

/** An operation that is being built. */
interface OnDevice {
  readonly executor: CudnnExecutor
  readonly list: CommandList
  readonly name: TensorRowName
  /** The elements of the result. */
  readonly count: number
}

/** Up to so many elements one thread adds up; a block of threads takes more. */
const FEW_ELEMENTS = 32

/** The rows on tensors of any shape on the device: each is one segment of kernels, and nothing waits for it. */
export function cudnnTensorKernels(executor: CudnnExecutor): Pick<RowKernels, TensorRowName> {
  const kernels: Record<string, (operands: readonly unknown[], numbers: unknown, shapes: Shapes) => CudnnTensor> = {}
  for (const name of Object.keys(TENSOR_ROWS) as TensorRowName[]) {
    const fill = OTHERS[name] ?? elements
    kernels[name] = (operands, numbers, [shape]) => {
      const count = elementCount(shape)
      return computed(
        executor,
        TENSOR_ROWS[name].action,
        operands.flat() as TensorLike[],
        { y: shape },
        (on, read, { y }) => {
          if (count > 0) fill({ executor, list: on.list, name, count }, y, read, numbers)
        },
      ).y
    }
  }
  return kernels as unknown as Pick<RowKernels, TensorRowName>
}

/** y = f(a, b, c), or parts of y one behind the other. */
const elements: Fill = ({ executor, list, name, count }, y, read, { walks }: { readonly walks: readonly Walk[] }) => {
  const rule = ELEMENT_FUNCTIONS.indexOf(elementFunctionOf(name))
  const written = walks.reduce((sum, walk) => sum + walkCount(walk), 0)
  if (written < count) list.add('clear', { to: y, offset: 0, bytes: y.bytes })
  for (const [k, walk] of walks.entries()) {
    const [a, b, c] = walks.length === 1 ? read : [read[k]]
    const views = {
      ...strides('y', walk, 0),
      ...strides('a', walk, 1),
      ...strides('b', walk, 2),
      ...strides('c', walk, 3),
    }
    const own = walkCount(walk)
    const fields = { y, a, b, c, count: own, rule, n1: walk[1], n2: walk[2], n3: walk[3], ...views }
    launchEach(executor.session, list, 'elements', own, fields as unknown as KernelFields<'elements'>)
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
  { executor, list, name, count },
  y,
  [x],
  { outer, inner }: Readonly<Record<'outer' | 'inner', Walk>>,
) => {
  const fields = {
    ...{ y, x, count, length: walkCount(inner), rule: (REDUCTIONS as readonly string[]).indexOf(name) },
    ...{ n1: outer[1], n2: outer[2], n3: outer[3], ...strides('x', outer, 1) },
    ...{ m1: inner[1], m2: inner[2], m3: inner[3], ...strides('z', inner, 0) },
  } as unknown as KernelFields<'reduce_each'>
  if (fields.length <= FEW_ELEMENTS) launchEach(executor.session, list, 'reduce_each', count, fields)
  else list.launch('reduce_by_blocks', count, BLOCK, fields)
}

/** Row-major products, whose operands change places for cuBLAS, as {@link multiply} has it. */
const products: Fill = ({ executor: { arithmetic }, list }, y, [a, b], numbers: Products) => {
  const { count, steps, rows, columns, inner, transposeA, transposeB } = numbers
  const [left, right] = [transposeA ? rows : inner, transposeB ? inner : columns]
  if (count === 1 || inner === 0) {
    const factors = [
      { buffer: a, columns: left, transposed: transposeA },
      { buffer: b, columns: right, transposed: transposeB },
    ] as const
    multiply(list, arithmetic, y, [rows, inner, columns], ...factors, 0)
    return
  }
  const operation = (isTransposed: boolean) => (isTransposed ? CUBLAS_OP.transpose : CUBLAS_OP.none)
  list.add('matrixProducts', {
    ...{ opA: operation(transposeB), opB: operation(transposeA), m: columns, n: rows, k: inner },
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

const oneHot: Fill = ({ executor, list, count }, y, [ids], { classes }: { readonly classes: number }) =>
  launchEach(executor.session, list, 'one_hot', count, { y, ids, count, classes })

const draw: Fill = ({ executor, list, name, count }, y, _, { seedLow, seedHigh, drawLow, drawHigh }: RandomDraw) => {
  const fields = { y, count, isNormal: Number(name === 'normal'), seedLow, seedHigh, drawLow, drawHigh }
  launchEach(executor.session, list, 'random_numbers', count, fields)
}

/** Rows that are not a function of elements. */
const OTHERS: Readonly<Partial<Record<TensorRowName, Fill>>> = {
  ...{ sum: reduce, mean: reduce, max: reduce, matmul: products, oneHot, uniform: draw, normal: draw },
}
