import type { FloatArray, RnnDescriptor, Tensor } from '@cudnn-rnn/canonical'
import type { AnyBackendTensor, BackendTensor } from './backend_tensor.js'
import type { DenseOps } from './dense_ops.js'
import type { DeviceGroup, DeviceGroupOptions } from './device_group.js'
import type { FloatDType } from './dtype.js'
import type { HostLstm } from './host_lstm.js'
import type { HostProducts } from './host_products.js'
import type { Rnn } from './rnn.js'
import type { TrainingSteps } from './training_steps.js'

/** Live objects of an executor: created, and neither disposed nor garbage-collected. */
export interface BackendStats {
  readonly tensors: number
  /** Bytes held by live tensors and tapes. */
  readonly bytes: number
  readonly tapes: number
  readonly rnns: number
  readonly steppers: number
}

/**
 * An executor: memory, recurrent networks and dense operations. It is passed as a value; there is no default executor.
 */
export interface Backend {
  /** "cudnn" | "cpu" | "reference" | … */
  readonly name: string
  /** Why this executor was chosen, for people. */
  readonly reason: string
  /**
   * Instruction set, or library and device: executors that differ in it may round otherwise, and lay out opaque buffers
   * otherwise. The ranks of a training must agree in it.
   */
  readonly implementation?: string | undefined
  /** The order of opaque buffers, if executors of this name have several. They exchange no buffers of different orders. */
  readonly opaqueOrder?: string | undefined
  /** The floating type of everything it computes. */
  readonly dtype: FloatDType
  readonly ops: DenseOps
  /** Present on executors that compute in host memory. */
  readonly products?: HostProducts | undefined
  /** Present on executors with a kernel for the recurrence of TensorFlow's LSTM cells. */
  readonly lstm?: HostLstm | undefined
  /** Present on executors that gain by whole steps. */
  readonly steps?: TrainingSteps | undefined
  /** Present on executors of devices that exchange tensors without the host. */
  readonly groups?: DeviceGroups | undefined
  /** Present if tensors are in host memory. */
  readonly shared?: SharedMemory | undefined
  /** Copies a host tensor in. Throws `ERR_DTYPE`, `ERR_SHAPE`. */
  tensor<Data extends FloatArray | Int32Array>(host: Tensor<Data>): BackendTensor<Data>
  /** A tensor of zeros in the executor's dtype; with `layout`, a slot of an opaque buffer. */
  zeros(shape: readonly number[], options?: { readonly layout?: string | undefined }): BackendTensor
  /**
   * Like `tensor.read()`, and blocks the calling thread until the device has the values; nothing else runs in it meanwhile.
   * Present on executors of devices, for callers that cannot await.
   *
   * @throws as `read` rejects; TypeError `ERR_FOREIGN_TENSOR`, `ERR_NOT_A_TENSOR`; RangeError `ERR_EXECUTOR_BUSY` if waiting
   *   would not end
   */
  readSync?<Data extends FloatArray | Int32Array>(tensor: BackendTensor<Data>): Tensor<Data>
  /** Whether `tensor` was made by this executor; it takes no others. */
  owns(tensor: AnyBackendTensor): boolean
  /** Prepares a network. Throws `ERR_PARAMS_TOO_LARGE`. */
  rnn(descriptor: RnnDescriptor): Rnn
  stats(): BackendStats
  /** Releases everything; further uses are refused with `ERR_BACKEND_DISPOSED`. Idempotent. */
  dispose(): void
  [Symbol.dispose](): void
}

/** Connects the executors of one kind. */
export interface DeviceGroups {
  /**
   * @param devices executors on different devices, in the order of the tensors' devices
   * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` if they cannot be connected
   */
  connect(devices: readonly Backend[], options?: DeviceGroupOptions): Promise<DeviceGroup>
}

/**
 * Properties of a tensor over shared memory.
 *
 * @inline
 */
type SharedTensorOptions = {
  readonly shape: readonly number[]
  /** Like `BackendTensor.layout`. */
  readonly layout: string | undefined
  /** Names the elements in all threads: an executor keeps one copy of derived data, such as quantized weights, for each id. */
  readonly id: string
}

/** Memory of an executor that all threads of a process read. It lives until the last thread has let go of it. */
export interface SharedMemory {
  /**
   * A zeroed array in the executor's dtype over a `SharedArrayBuffer`, aligned as the kernels read it.
   *
   * @throws RangeError `ERR_OUT_OF_MEMORY`
   */
  allocate(length: number): FloatArray
  /**
   * A tensor over `elements` themselves. It is read-only, because other threads read them at the same time; `read()`
   * returns a copy.
   *
   * @throws RangeError `ERR_BACKEND_DISPOSED`
   */
  tensor(elements: FloatArray, options: SharedTensorOptions): BackendTensor
}
