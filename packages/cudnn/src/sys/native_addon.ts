/** Types of the addon's functions. Work for a device is a message of commands: see commands.ts. */

declare const kind: unique symbol
interface Opaque<Kind extends string> {
  readonly [kind]: Kind
}
/** The number of an object that lives in a session's worker. */
export type ObjectId<Kind extends string> = number & Opaque<Kind>

export type Libraries = Opaque<'libraries'>
export type Session = Opaque<'session'>
export type NativeNccl = Opaque<'NCCL communicator'>
export type TensorDescriptor = ObjectId<'tensor descriptor'>
export type DropoutDescriptor = ObjectId<'dropout descriptor'>
export type RnnDescriptorId = ObjectId<'RNN descriptor'>
export type DataDescriptor = ObjectId<'data descriptor'>
export type CtcLossDescriptor = ObjectId<'CTC loss descriptor'>
export type Graph = ObjectId<'graph'>
/** Kernels that were compiled for one shape. */
export type KernelModule = ObjectId<'kernel module'>

export type LibraryKind = 'cudart' | 'driver' | 'cudnn' | 'cublas' | 'nvrtc'

/**
 * Properties of the device and versions of the libraries, read when the session opens; the versions as
 * cudaRuntimeGetVersion() and the like return them.
 */
export interface SessionInfo {
  /** "NVIDIA H200" */
  readonly name: string
  /** major·10 + minor */
  readonly computeCapability: number
  readonly multiProcessors: number
  readonly memoryPools: number
  readonly dropoutStatesBytes: number
  readonly cudnnVersion: number
  readonly driverVersion: number
  readonly runtimeVersion: number
  readonly cublasVersion: number
  readonly nvrtcVersion: number
  readonly totalBytes: number
  readonly freeBytes: number
}

/** The result of bindLibraries; the versions are missing without cuDNN. */
/** `missing`: "cudnn: cudnnRNNForward". The versions are those that cuDNN reports. */
type Bound =
  | {
      readonly libraries: Libraries
      readonly missing: readonly string[]
      readonly cudnnVersion: number
      readonly cudnnCudart: number
    }
  | { readonly libraries: null; readonly missing: readonly string[] }

export type HostArray = Float32Array | Float64Array | Int32Array | Uint8Array

type Batch = [
  session: Session,
  message: Float64Array,
  count: number,
  sources?: readonly HostArray[],
  targets?: readonly HostArray[],
]

type CallOnStreams = [
  communicator: NativeNccl,
  sessions: readonly Session[],
  buffers: readonly (readonly number[])[],
  counts: readonly number[],
  type: number,
]

export interface NativeAddon {
  /** Opens a library for the life of the process; `file` is the path that the loader found. */
  openLibrary(path: string): { readonly file?: string; readonly error?: string }
  /** Looks up all symbols of the named libraries; `libraries` is null if required ones are missing. */
  bindLibraries(paths: { readonly cudnn: string } & Partial<Record<LibraryKind, string>>): Bound
  /** The error of cudnnAdvVersionCheck(), or an empty string. */
  versionConflict(libraries: Libraries): string
  /** cudaGetDeviceCount(); `error` is its message, or empty. */
  deviceCount(libraries: Libraries): { readonly count: number; readonly error: string }

  /**
   * Starts a session's threads; `opened` resolves when the device is open. The caller must close the session in any
   * case.
   */
  openSession(libraries: Libraries, device: number): { readonly session: Session; readonly opened: Promise<unknown> }
  sessionInfo(session: Session): SessionInfo
  /** Never waits; resolves when the device has everything back. */
  closeSession(session: Session): Promise<void> | undefined
  /**
   * Queues one batch of commands. `sources` are read now; `targets` are filled when the promise resolves, with the
   * numbers that the commands reported. An error has `segment`, the index of the segment that failed.
   */
  submit(...batch: Batch): Promise<Float64Array | undefined> | undefined
  /** Like `submit`, and blocks the calling thread until the batch is settled; throws if `submit` rejects. */
  submitAndWait(...batch: Batch): Float64Array
  /** Reports device memory to the garbage collector, positive or negative. */
  adjustExternalMemory(bytes: number): void

  /** 22707 of 2.27.7. */
  ncclVersion(file: string): number
  ncclUniqueId(file: string): Uint8Array
  openNccl(
    libraries: Libraries,
    file: string,
    options: {
      /** They have the ranks from `rank` on. */
      readonly devices: readonly number[]
      readonly rank: number
      readonly size: number
      readonly id: Uint8Array
      readonly timeoutSeconds: number
    },
  ): { readonly communicator: NativeNccl; readonly opened: Promise<void> }
  /** `reduction` as ncclRedOp_t numbers it. */
  ncclAllReduce(
    communicator: NativeNccl,
    /** A Uint16Array has the bits of bfloat16. */
    array: Float32Array | Float64Array | Int32Array | Uint16Array,
    reduction: number,
  ): Promise<void>
  /**
   * Combines the first `counts` elements of the buffers in place, at this position of the queue of each session: one session for
   * each device of the communicator. Settles when the devices have done it. `type` as ncclDataType_t numbers it.
   */
  ncclReduceOnStreams(...call: [...CallOnStreams, reduction: number]): Promise<void>
  /** Like `ncclReduceOnStreams`, and copies the elements of rank `root`, which is an index of `sessions`. */
  ncclBroadcastOnStreams(...call: [...CallOnStreams, root: number]): Promise<void>
  closeNccl(communicator: NativeNccl): Promise<void>

  kernelSource(): string
  /** native/cudnn/kernels/persistent.cu. */
  persistentSource(): string
  supportedArchitectures(libraries: Libraries): number[]
  /** Compiles on a thread of libuv's pool; needs no device. */
  compileKernels(libraries: Libraries, source: string, options: readonly string[]): Promise<Uint8Array>
}
