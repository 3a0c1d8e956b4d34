import type { FloatArray } from '@cudnn-rnn/canonical'
import { codedRangeError, liveLength } from '@cudnn-rnn/canonical/rules'
import {
  CallNumbers,
  clipToNorm,
  eachProduct,
  embedding,
  embeddingGradient,
  HOST_TENSOR_KERNELS,
  KERNEL_OPERATIONS,
  type KernelJob,
  type KernelOperations,
  type LstmJob,
  layoutOf,
  SMALL_PRODUCT,
  type TensorKernels,
} from '@cudnn-rnn/ops/executor'
import type { CallFrame } from './call_frame.js'
import type { Address } from './wasm_exports.js'
import type { WasmHeap } from './wasm_heap.js'
import type { WasmNetwork } from './wasm_network.js'
import type { WasmQuantizedWeights, WasmTape } from './wasm_objects.js'

type Job<Name extends keyof KernelOperations> = Parameters<KernelOperations[Name]>[0]

/** Numbers and operands that an operation may have: kMaxNumbers and kMaxOperands of native/cpu/src/dense/operations.h. */
const MOST_NUMBERS = 8
const MOST_OPERANDS = 6

/** Copies of elements, which are where they are needed: in the arrays of JavaScript. Without absent operands. */
const IN_JAVASCRIPT: ReadonlyMap<string, (operands: readonly FloatArray[], ids: Int32Array, columns: number) => void> =
  new Map([
    ['embedding', ([rows, table], ids, columns) => embedding(rows, table, ids, columns)],
    ['embeddingGradient', ([table, rows], ids, columns) => embeddingGradient(table, ids, rows, columns)],
    ['assign', ([variable, source]) => variable.set(source)],
  ])

const FIRST_UPDATE = KERNEL_OPERATIONS.indexOf('assign')

/** Every operation is done when its call returns. */
const DONE = 0

/** The operations of the kernels on the calling thread: each copies its operands to the module and its results back. */
export class WasmOperations implements KernelOperations {
  readonly #heap: WasmHeap
  readonly #numbers = new CallNumbers()

  constructor(heap: WasmHeap) {
    this.#heap = heap
  }

  forward: KernelOperations['forward'] = (
    ...[network, time, batch, input, h, c, params, quantized, lengths, dropoutPosition, output, hFinal, cFinal, ...last]
  ) => {
    const [tape, , paramsVersion] = last
    this.#heap.call('run forward', (frame, exports) => {
      const paramsAddress = this.#heap.paramsAddress(frame, params, paramsVersion)
      exports.forward(
        (network as WasmNetwork).address,
        time,
        batch,
        frame.read(input),
        frame.read(h),
        frame.read(c),
        paramsAddress,
        (quantized as WasmQuantizedWeights | null)?.address ?? 0,
        frame.read(lengths),
        dropoutPosition,
        frame.write(output),
        frame.write(hFinal),
        frame.write(cFinal),
        (tape as WasmTape | null)?.address ?? 0,
      )
    })
    return DONE
  }

  backward(job: Job<'backward'>): number {
    const network = job.network as WasmNetwork
    const tape = job.tape as WasmTape
    this.#heap.call('run backward', (frame, exports) => {
      const params = this.#heap.paramsAddress(frame, job.params, job.paramsVersion)
      exports.backward(
        ...([network.address, frame.read(job.input), params, tape.address] as const),
        ...([frame.read(job.dOutput), frame.read(job.dhFinal), frame.read(job.dcFinal)] as const),
        ...([frame.write(job.dInput), frame.write(job.dh), frame.write(job.dc), frame.write(job.dParams)] as const),
      )
    })
    return DONE
  }

  quantize({ network, params, quantized, format }: Job<'quantize'>): number {
    const address = this.#heap.call('quantize weights', (frame, exports) =>
      exports.quantizedNew((network as WasmNetwork).address, frame.read(params), format),
    )
    ;(quantized as WasmQuantizedWeights).fill(address)
    return DONE
  }

  addProduct({ c, a, b, layout }: Job<'addProduct'>): void {
    const [cOffset, cRow, cColumn, aOffset, aRow, aColumn, bOffset, bRow, bColumn, m, n, k] =
      layout as unknown as Layout
    if (!(m >= 1 && n >= 1 && k >= 1)) return
    const action = 'multiply matrices'
    this.#heap.call(action, (frame, exports) => {
      // The elements from the first to the last of each matrix.
      const left = frame.read(elementsOf('a', a, aOffset, (m - 1) * aRow + (k - 1) * aColumn + 1))
      const right = frame.read(elementsOf('b', b, bOffset, (k - 1) * bRow + (n - 1) * bColumn + 1))
      const sums = frame.update(elementsOf('c', c, cOffset, (m - 1) * cRow + (n - 1) * cColumn + 1))
      exports.addProduct(sums, cRow, left, aRow, aColumn, right, bRow, bColumn, m, n, k)
    })
  }

  lstmForward(job: LstmJob): void {
    this.#heap.call('run an LSTM', (frame, exports) => {
      exports.lstmForward(...lstmOperands(frame, job, (array) => frame.update(array)))
    })
  }

  lstmBackward(job: Job<'lstmBackward'>): void {
    this.#heap.call('run an LSTM backward', (frame, exports) => {
      // The backward changes the gates alone: arrays that the forward filled are not copied back.
      const operands = lstmOperands(frame, job, (array) => frame.read(array))
      const written = [
        frame.update(job.dh),
        frame.update(job.dc),
        frame.update(job.dGamma),
        frame.update(job.dBeta),
      ] as const
      exports.lstmBackward(...operands, frame.read(job.dOutputs), ...written)
    })
  }

  ctcLoss(job: Job<'ctcLoss'>): number {
    const { time, batch, classes, maxLabels, blank, mergeRepeated, infeasible } = job
    const sizes = Float64Array.of(time, batch, classes, maxLabels, blank, Number(mergeRepeated), infeasible)
    job.loss[0] = this.#heap.call('compute the CTC loss', (frame, exports) =>
      exports.ctcLoss(
        ...([frame.read(sizes), frame.read(job.logits), frame.read(job.labels), frame.read(job.labelLengths)] as const),
        ...([frame.read(job.logitLengths), frame.read(job.rowWeights)] as const),
        ...([frame.write(job.rowLosses), frame.write(job.gradient)] as const),
      ),
    )
    return DONE
  }

  /** In JavaScript: a copy to the module would take as long as the sum. */
  norm({ tensors, maxNorm, norm }: Job<'norm'>): number {
    norm[0] = clipToNorm(tensors, maxNorm)
    return DONE
  }

  run({ op, operands, results, integers, numbers }: KernelJob): number {
    const name = KERNEL_OPERATIONS[op]
    const inJavaScript = IN_JAVASCRIPT.get(name)
    if (inJavaScript !== undefined) {
      inJavaScript(operands as readonly FloatArray[], integers as Int32Array, numbers[0])
      return DONE
    }
    this.#heap.call(`compute ${name}`, (frame, exports) => {
      // Results of a row are written whole.
      const addresses = operands.map((operand, index) =>
        index >= results ? frame.read(operand) : op < FIRST_UPDATE ? frame.write(operand) : frame.update(operand),
      )
      const pointers = frame.pointers(padded(addresses, MOST_OPERANDS))
      const scalars = frame.read(this.#numbers.of(padded([...numbers], MOST_NUMBERS)))
      exports.run(op, operands[0]?.length ?? 0, pointers, frame.read(integers), scalars)
    })
    return DONE
  }

  wait(): void {}
}

/**
 * Loops over elements run in JavaScript: a copy to the module and back takes as long. Products are the module's, but for
 * small ones.
 */
export function wasmTensorKernels(operations: WasmOperations): TensorKernels {
  return {
    ...HOST_TENSOR_KERNELS,
    products(products, c, a, b) {
      if (products.rows * products.columns * products.inner <= SMALL_PRODUCT) {
        return HOST_TENSOR_KERNELS.products(products, c, a, b)
      }
      eachProduct(products, c, a, b, (into, left, right, m, n, k) => {
        const layout = Float64Array.of(...layoutOf(into, left, right), m, n, k)
        operations.addProduct({ c, a, b, layout })
      })
      return DONE
    },
  }
}

/** Offset, row stride and column stride of c, a and b; then m, n, k. */
type Layout = readonly [
  ...[number, number, number],
  ...[number, number, number],
  ...[number, number, number],
  number,
  number,
  number,
]

/**
 * The operands that both passes share, in the order of SequenceOf in native/wasm/src/lstm_exports.cc, and their sizes.
 *
 * @param states copies the arrays that the forward fills.
 */
function lstmOperands(
  frame: CallFrame,
  job: LstmJob,
  states: (array: FloatArray | null) => Address,
): [sizes: Address, operands: Address] {
  const { time, batch, units, forgetBias, epsilon, kernel, kernelBegin, lengths, dropout } = job
  const rows = time * batch
  const stateElements = (rows + batch) * units
  const pointers = frame.pointers([
    frame.read(elementsOf('kernel', kernel, kernelBegin, 4 * units * units)),
    frame.read(lengths === null ? null : elementsOf('lengths', lengths, 0, batch)),
    frame.read(dropout === null ? null : elementsOf('dropout', dropout, 0, rows * units)),
    frame.read(job.gamma),
    frame.read(job.beta),
    frame.update(elementsOf('gates', job.gates, 0, rows * 4 * units)),
    states(elementsOf('hidden', job.hidden, 0, stateElements)),
    states(elementsOf('cells', job.cells, 0, stateElements)),
    states(job.normalizedCells),
    states(job.inverses),
  ])
  return [frame.read(Float64Array.of(time, batch, units, forgetBias, epsilon, job.hardSigmoid ? 1 : 0)), pointers]
}

/** A view of `count` elements of a caller's array, which may have been transferred or resized. */
function elementsOf<Elements extends FloatArray | Int32Array>(
  name: string,
  array: Elements,
  begin: number,
  count: number,
): Elements {
  const length = liveLength(array)
  if (begin >= 0 && count >= 0 && begin + count <= length) return array.subarray(begin, begin + count) as Elements
  throw codedRangeError(
    'ERR_TENSOR_TRANSFERRED',
    `Cannot use ${name} as it must have ${begin + count} elements: current number is ${length}. Its buffer was transferred or resized.`,
    { expected: begin + count, actual: length },
  )
}

function padded(numbers: readonly number[], length: number): number[] {
  return [...numbers, ...new Array<number>(length - numbers.length).fill(0)]
}
