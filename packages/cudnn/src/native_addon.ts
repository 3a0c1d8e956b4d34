/**
 * The addon as TypeScript sees it: one function per C call, its prototype beside it in native/cudnn/src. Functions that
 * take a session append a command to the batch under construction; `post` queues the batch.
 */

declare const kind: unique symbol
interface Opaque<Kind extends string> {
  readonly [kind]: Kind
}

export type Libraries = Opaque<'libraries'>
export type Session = Opaque<'session'>
export type Buffer = Opaque<'buffer'>
export type TensorDescriptor = Opaque<'tensor descriptor'>
export type DropoutDescriptor = Opaque<'dropout descriptor'>
export type RnnDescriptorHandle = Opaque<'RNN descriptor'>
export type DataDescriptor = Opaque<'data descriptor'>
export type Descriptor = TensorDescriptor | DropoutDescriptor | RnnDescriptorHandle | DataDescriptor
export type KernelModule = Opaque<'kernel module'>
export type Kernel = Opaque<'kernel'>
export type Graph = Opaque<'graph'>
type Timer = Opaque<'timer'>

export type LibraryKind = 'cudart' | 'driver' | 'cudnn' | 'cublas' | 'nvrtc'

/** What a device said when its session opened. Versions are numbered as the libraries number them. */
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

interface Bound {
  readonly libraries: Libraries | null
  /** "cudnn: cudnnRNNForward" */
  readonly missing: readonly string[]
  readonly cudnnVersion?: number
  readonly cudnnCudart?: number
}

type HostArray = Float32Array | Float64Array | Int32Array | Uint8Array

export interface NativeAddon {
  openLibrary(path: string): { readonly file?: string; readonly error?: string }
  bindLibraries(paths: Partial<Record<LibraryKind, string>>): Bound
  versionConflict(libraries: Libraries): string
  deviceCount(libraries: Libraries): { readonly count: number; readonly error: string }

  openSession(
    libraries: Libraries,
    device: number,
  ): { readonly session: Session; readonly opened: Promise<Float64Array> }
  sessionInfo(session: Session): SessionInfo
  /** Never waits; resolves when the device has everything back. */
  closeSession(session: Session): Promise<void> | undefined
  post(session: Session, mode: number): Promise<Float64Array> | undefined
  discard(session: Session): void

  allocate(session: Session, bytes: number): Buffer
  hostMemory(session: Session, bytes: number): Buffer
  release(buffer: Buffer): void
  adjustExternalMemory(bytes: number): void
  upload(session: Session, to: Buffer, offset: number, from: HostArray): void
  download(session: Session, from: Buffer, offset: number, to: HostArray): void
  copy(session: Session, to: Buffer, toOffset: number, from: Buffer, fromOffset: number, bytes: number): void
  clear(session: Session, buffer: Buffer, offset: number, bytes: number): void
  memoryInfo(session: Session): void

  tensorDescriptor(libraries: Libraries, dtype: number, d0: number, d1: number, d2: number): TensorDescriptor
  dataDescriptor(
    libraries: Libraries,
    dtype: number,
    layout: number,
    time: number,
    batch: number,
    columns: number,
    lengths: Int32Array,
    fill?: Uint8Array | null,
  ): DataDescriptor
  dropoutDescriptor(libraries: Libraries): DropoutDescriptor
  setDropoutDescriptor(
    session: Session,
    descriptor: DropoutDescriptor,
    rate: number,
    states: Buffer,
    seed: number,
  ): void
  rnnDescriptor(
    libraries: Libraries,
    algo: number,
    cellMode: number,
    biasMode: number,
    dirMode: number,
    inputMode: number,
    dataType: number,
    mathPrec: number,
    mathType: number,
    inputSize: number,
    hiddenSize: number,
    projSize: number,
    numLayers: number,
    dropout: DropoutDescriptor | null,
    auxFlags: number,
    clip: number | null,
  ): RnnDescriptorHandle
  releaseDescriptor(descriptor: Descriptor): void

  weightSpaceSize(session: Session, rnn: RnnDescriptorHandle): void
  weightParams(
    session: Session,
    rnn: RnnDescriptorHandle,
    pseudoLayer: number,
    weightSpaceBytes: number,
    linLayerId: number,
  ): void
  weightLayoutWithoutDevice(
    libraries: Libraries,
    rnn: RnnDescriptorHandle,
    pseudoLayers: number,
    linLayers: number,
  ): Float64Array
  buildRnnDynamic(session: Session, rnn: RnnDescriptorHandle, batch: number): void
  tempSpaceSizes(session: Session, rnn: RnnDescriptorHandle, mode: number, x: DataDescriptor): void
  rnnForward(
    session: Session,
    rnn: RnnDescriptorHandle,
    mode: number,
    lengths: Buffer | null,
    xDesc: DataDescriptor,
    x: Buffer,
    yDesc: DataDescriptor,
    y: Buffer,
    hDesc: TensorDescriptor,
    hx: Buffer | null,
    hy: Buffer,
    cDesc: TensorDescriptor | null,
    cx: Buffer | null,
    cy: Buffer | null,
    weightSpace: Buffer,
    workSpace: Buffer,
    reserveSpace: Buffer | null,
  ): void
  rnnBackwardData(
    session: Session,
    rnn: RnnDescriptorHandle,
    lengths: Buffer | null,
    yDesc: DataDescriptor,
    y: Buffer,
    dy: Buffer,
    xDesc: DataDescriptor,
    dx: Buffer,
    hDesc: TensorDescriptor,
    hx: Buffer | null,
    dhy: Buffer | null,
    dhx: Buffer,
    cDesc: TensorDescriptor | null,
    cx: Buffer | null,
    dcy: Buffer | null,
    dcx: Buffer | null,
    weightSpace: Buffer,
    workSpace: Buffer,
    reserveSpace: Buffer,
  ): void
  rnnBackwardWeights(
    session: Session,
    rnn: RnnDescriptorHandle,
    lengths: Buffer | null,
    xDesc: DataDescriptor,
    x: Buffer,
    hDesc: TensorDescriptor,
    hx: Buffer | null,
    yDesc: DataDescriptor,
    y: Buffer,
    dweightSpace: Buffer,
    workSpace: Buffer,
    reserveSpace: Buffer,
    addGrad?: number,
  ): void

  matrixProduct(
    session: Session,
    opA: number,
    opB: number,
    m: number,
    n: number,
    k: number,
    a: Buffer,
    lda: number,
    b: Buffer,
    ldb: number,
    beta: number,
    c: Buffer,
    ldc: number,
    type: number,
    computeType: number,
  ): void

  kernelSource(): string
  supportedArchitectures(libraries: Libraries): number[]
  compileKernels(libraries: Libraries, source: string, options: readonly string[]): Promise<Uint8Array>
  loadModule(session: Session, image: Uint8Array): KernelModule
  kernel(session: Session, module: KernelModule, name: string, signature: string, isDouble: boolean): Kernel
  launch(
    session: Session,
    kernel: Kernel,
    blocks: number,
    threads: number,
    ...parameters: readonly (Buffer | number | null)[]
  ): void

  beginCapture(session: Session): void
  endCapture(session: Session): Graph
  launchGraph(session: Session, graph: Graph, ...reads: readonly Buffer[]): void
  releaseGraph(graph: Graph): void
  startTimer(session: Session): Timer
  stopTimer(session: Session, timer: Timer): void
}
