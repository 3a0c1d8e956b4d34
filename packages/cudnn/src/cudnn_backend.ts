import {
  checkDescriptor,
  type FloatArray,
  Inspectable,
  type RnnDescriptor,
  type Summary,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { checkArguments, checkOptions, FUNCTION, optional, TEXT } from '@cudnn-rnn/canonical/rules'
import {
  type AnyBackendTensor,
  type Backend,
  type BackendStats,
  type BackendTensor,
  type DenseOps,
  type DeviceGroups,
  DTYPES,
  type FloatDType,
  type TrainingSteps,
} from '@cudnn-rnn/ops'
import {
  backendSummary,
  checkDimensions,
  checkedOperations,
  checkHostTensor,
  checkIsHostTensor,
  type Lifetime,
  ownTensor,
} from '@cudnn-rnn/ops/executor'
import { CudnnDenseKernels } from './dense/cudnn_dense_kernels.js'
import { LAYER_LAUNCHES } from './dense/cudnn_layer_kernels.js'
import { TENSOR_LAUNCHES } from './dense/cudnn_tensor_kernels.js'
import { rowKernels } from './dense/operation.js'
import type { CudnnExecutor } from './device/cudnn_executor.js'
import type { CudnnTensor } from './device/cudnn_tensor.js'
import type { DeviceSession } from './device/device_session.js'
import { type Float16Tensor, isFloat16Tensor } from './device/float16_values.js'
import type { Arithmetic } from './device/precision.js'
import { connectDevices } from './nccl/device_group.js'
import { CudnnRnn } from './rnn/cudnn_rnn.js'
import type { SessionInfo } from './sys/native_addon.js'
import { versionText } from './sys/version_text.js'

/**
 * The executor over cuDNN: one GPU, one stream, one thread that makes all calls.
 *
 * @example
 * ```ts no-run
 * import { type CudnnBackend, openCudnnBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend: CudnnBackend = await openCudnnBackend({ device: 0 })
 * const x = backend.tensor({ data: Float32Array.of(1, 2), shape: [2] })
 * console.log(await x.data()) // [1, 2]
 * backend.dispose()
 * ```
 */
export class CudnnBackend extends Inspectable implements Backend {
  readonly name = 'cudnn'
  readonly reason: string
  readonly implementation: string
  readonly dtype: FloatDType
  readonly ops: DenseOps
  readonly steps: CudnnTrainingSteps
  readonly groups: DeviceGroups
  readonly #executor: CudnnExecutor

  constructor(executor: CudnnExecutor) {
    super()
    const { info } = executor.session
    this.#executor = executor
    this.dtype = executor.memory.dtype
    this.implementation = `${info.name}, cuDNN ${versionText(info.cudnnVersion)}, ${executor.arithmetic.precision}`
    this.reason = `cudnn: ${this.implementation}`
    const rows = rowKernels(executor, { ...LAYER_LAUNCHES, ...TENSOR_LAUNCHES })
    const kernels = Object.assign(new CudnnDenseKernels(executor), rows)
    this.ops = checkedOperations(executor.memory, kernels)
    // Without graphs a step gains nothing from being recorded.
    const isRecorded = executor.graphs !== 'never'
    const guarded = kernels.whereFinite.bind(kernels)
    this.steps = new CudnnTrainingSteps(executor.session, executor.memory.life, isRecorded, guarded)
    this.groups = {
      connect: (devices, options) => connectDevices(devices, (device) => CudnnBackend.executorOf(device), options),
    }
  }

  /** The executor behind `backend`; undefined for any other. */
  static executorOf(backend: Backend): CudnnExecutor | undefined {
    return #executor in backend ? backend.#executor : undefined
  }

  /** Properties of the device and versions of the libraries. */
  get device(): SessionInfo {
    return this.#executor.session.info
  }

  get precision(): Arithmetic['precision'] {
    return this.#executor.arithmetic.precision
  }

  /** A tensor of a host array; Node.js 24's Float16Array is taken as well, and widened to the executor's type. */
  tensor(given: Float16Tensor): CudnnTensor
  tensor<Data extends FloatArray | Int32Array>(given: Tensor<Data>): CudnnTensor<Data>
  tensor(given: Tensor | Float16Tensor): CudnnTensor<FloatArray | Int32Array> {
    const action = 'make a tensor'
    const { memory } = this.#executor
    memory.life.check(action)
    if (!isFloat16Tensor(given)) {
      const host = checkHostTensor(action, this.dtype, given)
      return memory.fromHost(host, host.dtype)
    }
    const { data: halves, shape } = checkIsHostTensor(action, 'host', given as unknown as Tensor)
    return memory.fromHost({ data: DTYPES[this.dtype].array.from(halves), shape }, this.dtype)
  }

  /** A tensor of zeros; the memory is allocated and cleared in the order of calls. */
  zeros(shape: readonly number[], options: { readonly layout?: string | undefined } = {}): CudnnTensor {
    const action = 'make a tensor of zeros'
    const given = checkOptions(action, options, { layout: optional(TEXT) })
    const { memory } = this.#executor
    memory.life.check(action)
    return memory.zeros(checkDimensions(action, shape), given.layout)
  }

  /**
   * The values of `tensor`, after all calls made before; blocks the calling thread until the device has them.
   *
   * @throws as `CudnnTensor.read` rejects; TypeError `ERR_FOREIGN_TENSOR`, `ERR_NOT_A_TENSOR`; RangeError `ERR_EXECUTOR_BUSY` while
   *   another call prepares a new shape
   */
  readSync<Data extends FloatArray | Int32Array>(tensor: BackendTensor<Data>): Tensor<Data> {
    const action = 'read a tensor'
    const { memory } = this.#executor
    memory.life.check(action)
    return ownTensor(memory, action, 'tensor', tensor).readSync() as Tensor<FloatArray | Int32Array> as Tensor<Data>
  }

  /** True for tensors of this executor only, not of another executor on the same GPU. */
  owns(tensor: AnyBackendTensor): boolean {
    return this.#executor.memory.owns(tensor)
  }

  /** Prepares a network. Nothing is sent to the device before the first pass. */
  rnn(descriptor: RnnDescriptor): CudnnRnn {
    this.#executor.memory.life.check('prepare a network')
    checkDescriptor(descriptor)
    return new CudnnRnn(this.#executor, descriptor)
  }

  /** Live objects and bytes, counted on JavaScript's side: queued frees count as freed. */
  stats(): BackendStats {
    return this.#executor.memory.ledger.snapshot()
  }

  /**
   * Gives memory of disposed tensors, which is kept for reuse, back to the device, where other processes find it; waits
   * for the device. Graphs of repeated passes keep theirs. Rejects with RangeError `ERR_BACKEND_DISPOSED`, CudnnError
   * `ERR_CUDA`.
   */
  async trimMemory(): Promise<void> {
    const { memory, session } = this.#executor
    memory.life.check('trim the memory')
    await session.trimMemory()
  }

  /** Returns immediately. Work on the device completes, then its memory is freed. Idempotent. */
  dispose(): void {
    void this.close()
  }

  /** Like `dispose`, and resolves when the device has everything back. */
  close(): Promise<void> {
    this.#executor.memory.life.end()
    return this.#executor.session.close()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  protected override summary(): Summary {
    return backendSummary(this, this.#executor.memory.life)
  }
}

/** Training steps whose commands are recorded first and submitted together. */
class CudnnTrainingSteps implements TrainingSteps {
  readonly whereFinite: TrainingSteps['whereFinite']
  readonly #session: DeviceSession
  readonly #life: Lifetime
  readonly #isRecorded: boolean

  /** @param isRecorded false if graphs are never used */
  constructor(
    session: DeviceSession,
    life: Lifetime,
    isRecorded: boolean,
    whereFinite: (scalars: readonly BackendTensor[], updates: () => void) => void,
  ) {
    this.#session = session
    this.#life = life
    this.#isRecorded = isRecorded
    this.whereFinite = whereFinite
  }

  /**
   * Runs `step` with its commands recorded, and submits them as one list at its end. Steps may nest or overlap; the
   * outermost end submits.
   */
  async run<Result>(step: () => Promise<Result>): Promise<Result> {
    const action = 'run a step'
    this.#life.check(action)
    checkArguments(action, { step }, { step: FUNCTION })
    if (!this.#isRecorded) return step()
    this.#session.beginStep()
    let result: Result
    try {
      result = await step()
    } catch (error) {
      // The first error of the step is the one to report.
      await this.#session.endStep().catch(() => {})
      throw error
    }
    await this.#session.endStep()
    return result
  }
}
