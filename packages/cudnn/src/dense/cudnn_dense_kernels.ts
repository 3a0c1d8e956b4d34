import { ANYTHING, checkArguments, FUNCTION, listOf } from '@cudnn-rnn/canonical/rules'
import { type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import {
  type CtcLossResult,
  type CtcProblem,
  checkTensor,
  type KernelOperands,
  type OptimizerUpdate,
  ownTensor,
  type StatementKernels,
} from '@cudnn-rnn/ops/executor'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK, blocksOf } from '../device/device_kernels.js'
import { TENSORS_OF_LAUNCH } from '../sys/kernels.js'
import { CtcLosses } from './ctc_losses.js'
import { computed, Operation } from './operation.js'
import { launchUpdate } from './update_launch.js'

/** Most blocks per multiprocessor whose partial sums of squares are added up in a second step: enough for bandwidth. */
const NORM_BLOCKS_PER_MULTIPROCESSOR = 4
const SCALAR: readonly number[] = Object.freeze([])
/** Elements that make one block worth its launch. */
const ELEMENTS_PER_NORM_BLOCK = 4 * BLOCK

/** The operations on the device that are not kernels of rows: those that change tensors, and CTC. */
export class CudnnDenseKernels implements StatementKernels<CudnnTensor> {
  readonly readsCounts = true
  readonly #executor: CudnnExecutor
  #ctcLosses: CtcLosses | undefined
  /** If it is not finite, updates change nothing. */
  #guard: CudnnTensor | undefined

  constructor(executor: CudnnExecutor) {
    this.#executor = executor
  }

  /** Ids that are on the host; on the device a wrong one makes the result NaN. */
  readIds(ids: TensorLike): Int32Array | undefined {
    return isBackendTensor(ids) ? undefined : (ids.data as Int32Array)
  }

  /** The CTC loss of logits [T,B,K], see {@link CtcLosses}. */
  ctcLoss([logits]: KernelOperands<'ctcLoss'>, problem: CtcProblem): Promise<CtcLossResult> {
    this.#ctcLosses ??= new CtcLosses(this.#executor)
    return this.#ctcLosses.loss(logits, problem)
  }

  /**
   * The global norm √Σx² over all tensors, and if it exceeds `maxNorm` every tensor · maxNorm/norm, as
   * tf.clip_by_global_norm. Nothing is read back: the clipping kernel reads the norm on the device.
   */
  norm(tensors: readonly CudnnTensor[], maxNorm: number): CudnnTensor {
    const { session } = this.#executor
    const most = session.info.multiProcessors * NORM_BLOCKS_PER_MULTIPROCESSOR
    const parts = tensors.map(({ buffer, shape }) => ({ x: buffer, count: elementCount(shape) }))
    const launches: { readonly four: typeof parts; readonly largest: number; readonly blocks: number }[] = []
    let sum = 0
    for (let first = 0; first < parts.length; first += TENSORS_OF_LAUNCH) {
      const four = parts.slice(first, first + TENSORS_OF_LAUNCH)
      const largest = four.reduce((most, { count }) => Math.max(most, count), 0)
      const blocks = Math.max(1, Math.min(Math.ceil(largest / ELEMENTS_PER_NORM_BLOCK), most))
      launches.push({ four, largest, blocks })
      sum += blocks
    }
    return this.#scalar('run the global norm', (operation, norm) => {
      const { list } = operation
      const partial = operation.own(list.allocate(sum * Float64Array.BYTES_PER_ELEMENT))
      let first = 0
      if (launches.length === 0) list.add('clear', { to: norm, offset: 0, bytes: norm.bytes })
      // Partial sums go to fixed places and are added in order by one block, so the norm does not depend on scheduling.
      for (const { four, blocks } of launches) {
        const total = first + blocks === sum ? sum : 0
        list.launchTensors('global_norm', blocks, BLOCK, four, { norm, partial, first, total })
        first += blocks
      }
      for (const { four, largest } of maxNorm === Number.POSITIVE_INFINITY ? [] : launches) {
        list.launchTensors('clip_by_norm', blocksOf(session, largest), BLOCK, four, { norm, limit: maxNorm })
      }
    })
  }

  /** Copies without a kernel; both have the same size. */
  assign(variable: CudnnTensor, source: TensorLike): void {
    const operation = new Operation(this.#executor, 'assign')
    const from = operation.operand(source)
    const to = variable.buffer
    operation.list.add('copy', { to, toOffset: 0, from, fromOffset: 0, bytes: Math.min(to.bytes, from.bytes) })
    operation.post()
  }

  /** Clamps every element to ±limit; NaN stays. */
  clip(tensors: readonly CudnnTensor[], limit: number): void {
    const operation = new Operation(this.#executor, 'clip')
    for (const { buffer, shape } of tensors) {
      const count = elementCount(shape)
      operation.each('clip_by_value', count, { x: buffer, count, limit })
    }
    operation.post()
  }

  /** Reads gradient and slots, writes variable and slots, in one pass over memory. */
  update(
    update: OptimizerUpdate,
    written: readonly CudnnTensor[],
    source: TensorLike | undefined,
    count?: CudnnTensor,
  ): void {
    const operation = new Operation(this.#executor, 'update')
    const operands = {
      written: written.map(({ buffer }) => buffer),
      source: source && operation.operand(source),
      steps: count && operation.operand(count),
      guard: this.#guard?.buffer,
    }
    launchUpdate(this.#executor.session, operation.list, update, elementCount(written[0].shape), operands)
    operation.post()
  }

  /** {@link TrainingSteps.whereFinite} */
  whereFinite(scalars: readonly BackendTensor[], updates: () => void): void {
    const action = 'guard updates'
    const { memory } = this.#executor
    memory.life.check(action)
    checkArguments(action, { scalars, updates }, { scalars: listOf(ANYTHING), updates: FUNCTION })
    for (const [index, scalar] of scalars.entries()) {
      checkTensor(action, `scalars[${index}]`, scalar, { dtype: memory.dtype, shape: [] })
    }
    const own = scalars.map((scalar, index) => ownTensor(memory, action, `scalars[${index}]`, scalar))
    // Calls may nest: inner updates need all guards finite.
    const before = this.#guard
    const guards: CudnnTensor[] = []
    try {
      for (const scalar of own) {
        const both = this.#guard && this.#bothFinite(this.#guard, scalar)
        this.#guard = both ?? scalar
        if (both) guards.push(both)
      }
      updates()
    } finally {
      this.#guard = before
      for (const guard of guards) guard.dispose()
    }
  }

  /** A scalar that is finite if both are. */
  #bothFinite(a: CudnnTensor, b: CudnnTensor): CudnnTensor {
    return this.#scalar('guard updates', ({ list }, guard) =>
      list.launch('both_finite', 1, BLOCK, { guard, a: a.buffer, b: b.buffer }),
    )
  }

  /** {@link computed}, of a scalar. */
  #scalar(action: string, launch: (operation: Operation, scalar: DeviceBuffer) => void): CudnnTensor {
    return computed(this.#executor, action, [], [SCALAR], (operation, _, [scalar]) => launch(operation, scalar))[0]
  }
}
