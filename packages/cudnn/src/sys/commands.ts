// The table of commands that packages/cudnn submits to a session's worker. The TypeScript types below, the encoding in
// device/command_list.ts and the C++ structs of commands.h, which CMake writes by scripts/build/generate_commands.mjs,
// follow from it and from the table of kernels. The script compares both with the prototypes of NVIDIA's functions
// (native/cudnn/src/*_symbols.def) and of the kernels (native/cudnn/kernels).

/** How a field is passed. `?`: may be left out. */
export type Kind =
  /** A device buffer that is read, written, or both. */
  | 'in'
  | 'in?'
  | 'out'
  | 'out?'
  | 'inout'
  | 'int'
  | 'size'
  | 'double'
  | 'double?'
  /** Number of a kernel's element type. It may differ from one replay of a graph to the next. */
  | 'scalar'
  /** A host array that is read when the command is submitted, or filled when it is done. */
  | 'source'
  | 'source?'
  | 'target'
  | 'graph'
  | DescriptorKind
  /** Kernels of one shape. */
  | 'kernelModule'
  | 'new kernelModule'
  | `${DescriptorKind}?`
  | `new ${DescriptorKind}`

type DescriptorKind =
  | 'tensorDescriptor'
  | 'dataDescriptor'
  | 'dropoutDescriptor'
  | 'rnnDescriptor'
  | 'ctcLossDescriptor'

export interface CommandShape {
  /** NVIDIA's function. Its parameters have the names of the fields. */
  readonly call?: string
  readonly fields: Readonly<Record<string, Kind>>
}

/**
 * By name; the place in this table is the number of a command. The calls of cuDNN and their parameters are documented at
 * https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-adv-library.html.
 */
export const COMMANDS = {
  /** Begins a segment: commands that succeed or fail together. */
  segment: { fields: {} },
  /** The memory of a buffer, before the other commands of the segment run. */
  allocate: { fields: { buffer: 'out', bytes: 'size' } },
  /** Host memory in place of a buffer, never freed: the validation tests the device's response to a host pointer. */
  allocateOnHost: { fields: { buffer: 'out', bytes: 'size' } },
  /** Frees a buffer or destroys a descriptor, after the other commands of the segment and even if they failed. */
  release: { fields: { buffer: 'out' } },
  /**
   * Copies a host array to the device. The array is copied when the command is submitted, so JavaScript may change it
   * afterwards: cudaMemcpyAsync is asynchronous only from page-locked memory, which an ArrayBuffer is not.
   */
  upload: { fields: { to: 'out', offset: 'size', from: 'source' } },
  /** `to` is filled when a submission that waits for the device settles. */
  download: { fields: { from: 'in', offset: 'size', to: 'target' } },
  /** On the device, in stream order. The ranges must not overlap: cudaMemcpyAsync leaves that undefined. */
  copy: {
    call: 'cudaMemcpyAsync',
    fields: { to: 'out', toOffset: 'size', from: 'in', fromOffset: 'size', bytes: 'size' },
  },
  /** Sets bytes to 0. */
  clear: { call: 'cudaMemsetAsync', fields: { to: 'out', offset: 'size', bytes: 'size' } },
  /** Sets all bits of all bytes, which means "not there yet" to a persistent kernel. */
  markEmpty: { call: 'cudaMemsetAsync', fields: { to: 'out', offset: 'size', bytes: 'size' } },
  /** Reports free and total bytes. */
  memoryInfo: { call: 'cudaMemGetInfo', fields: {} },
  /** Waits for the device, then returns the free memory of the pool to the system, where other processes can get it. */
  trimMemory: { call: 'cudaMemPoolTrimTo', fields: {} },

  /**
   * Three dimensions [L·D,B,columns], fully packed: cuDNN requires packed states (h, c) and packed CTC probabilities.
   */
  setTensorDescriptor: {
    call: 'cudnnSetTensorNdDescriptor',
    fields: { descriptor: 'new tensorDescriptor', dtype: 'int', layers: 'int', batch: 'int', columns: 'int' },
  },
  /**
   * A sequence [T,B,vectorSize] and the length of each row. `seqLengthArray` is in host memory and is copied by the call.
   * `paddingFill` is one element of `dtype`, written to outputs past a row's length; null leaves them undefined.
   */
  setDataDescriptor: {
    call: 'cudnnSetRNNDataDescriptor',
    fields: {
      descriptor: 'new dataDescriptor',
      dtype: 'int',
      layout: 'int',
      maxSeqLength: 'int',
      batchSize: 'int',
      vectorSize: 'int',
      seqLengthArray: 'source',
      paddingFill: 'source?',
    },
  },
  /**
   * Runs a kernel that fills `states` from the seed, which takes milliseconds: a network makes its generator once. The
   * descriptor keeps the address of `states`, so the buffer must outlive it.
   */
  setDropoutDescriptor: {
    call: 'cudnnSetDropoutDescriptor',
    fields: { descriptor: 'new dropoutDescriptor', rate: 'double', states: 'out', seed: 'double' },
  },
  /**
   * `projSize` equals `hiddenSize` in a network without a projection. `mathPrec` is the type in which products are
   * accumulated; `mathType` allows or forbids Tensor Cores and TF32.
   */
  setRnnDescriptor: {
    call: 'cudnnSetRNNDescriptor_v8',
    fields: {
      descriptor: 'new rnnDescriptor',
      algo: 'int',
      cellMode: 'int',
      biasMode: 'int',
      dirMode: 'int',
      inputMode: 'int',
      dataType: 'int',
      mathPrec: 'int',
      mathType: 'int',
      inputSize: 'int',
      hiddenSize: 'int',
      projSize: 'int',
      numLayers: 'int',
      dropout: 'dropoutDescriptor?',
      auxFlags: 'int',
      /** Limit of cudnnRNNSetClip_v9 or _v8. */
      clip: 'double?',
    },
  },

  /** Reports the bytes of the weight space. packages/cudnn compares them with the canonical layout, which it assumes. */
  weightSpaceSize: { call: 'cudnnGetRNNWeightSpaceSize', fields: { descriptor: 'rnnDescriptor' } },
  /**
   * Reports byte offset (-1: absent), rows, columns of the matrix, then of the bias. A pseudo-layer is one direction of
   * one layer: its index is layer · D + direction. `linLayerID` numbers the gates: input side first, recurrent side next,
   * and 8 for the LSTM's projection.
   */
  weightParams: {
    call: 'cudnnGetRNNWeightParams',
    fields: { descriptor: 'rnnDescriptor', pseudoLayer: 'int', weightSpaceSize: 'size', linLayerID: 'int' },
  },
  /**
   * Compiles kernels for one batch size by NVRTC; only for the algorithm `persist_dynamic`. cuDNN requires it before the
   * first pass, and again when the batch size changes.
   */
  buildRnnDynamic: { call: 'cudnnBuildRNNDynamic', fields: { descriptor: 'rnnDescriptor', batch: 'int' } },
  /**
   * Reports bytes of workspace and reserve space. Workspace may be shared by all calls of a stream. The reserve space
   * belongs to one training forward: its backward reads it.
   */
  tempSpaceSizes: {
    call: 'cudnnGetRNNTempSpaceSizes',
    fields: { descriptor: 'rnnDescriptor', mode: 'int', xDesc: 'dataDescriptor' },
  },
  /**
   * y, hy and cy of one pass. Since cuDNN 8.9.1 `devSeqLengths` is optional: without it cuDNN reads the lengths of the
   * data descriptors. A null `hx` or `cx` is a state of zeros. `reserveSpace` is required in training and null in
   * inference.
   */
  rnnForward: {
    call: 'cudnnRNNForward',
    fields: {
      descriptor: 'rnnDescriptor',
      mode: 'int',
      devSeqLengths: 'in?',
      xDesc: 'dataDescriptor',
      x: 'in',
      yDesc: 'dataDescriptor',
      y: 'out',
      hDesc: 'tensorDescriptor',
      hx: 'in?',
      hy: 'out',
      cDesc: 'tensorDescriptor?',
      cx: 'in?',
      cy: 'out?',
      weightSpace: 'in',
      workSpace: 'out',
      reserveSpace: 'out?',
    },
  },
  /**
   * dx, dhx and dcx. It must precede `rnnBackwardWeights`, which reads intermediate values that this call leaves in the
   * reserve space. The table still lists the reserve space as an input: a failed backward must not mark it invalid, so
   * that the caller can run the backward again.
   */
  rnnBackwardData: {
    call: 'cudnnRNNBackwardData_v8',
    fields: {
      descriptor: 'rnnDescriptor',
      devSeqLengths: 'in?',
      yDesc: 'dataDescriptor',
      y: 'in',
      dy: 'in',
      xDesc: 'dataDescriptor',
      dx: 'out',
      hDesc: 'tensorDescriptor',
      hx: 'in?',
      dhy: 'in?',
      dhx: 'out',
      cDesc: 'tensorDescriptor?',
      cx: 'in?',
      dcy: 'in?',
      dcx: 'out?',
      weightSpace: 'in',
      workSpace: 'out',
      reserveSpace: 'in',
    },
  },
  /**
   * Adds to `dweightSpace`: cuDNN supports `CUDNN_WGRAD_MODE_ADD` only, so the caller clears the buffer before. Runs after
   * `rnnBackwardData` with the same reserve space.
   */
  rnnBackwardWeights: {
    call: 'cudnnRNNBackwardWeights_v8',
    fields: {
      descriptor: 'rnnDescriptor',
      addGrad: 'int',
      devSeqLengths: 'in?',
      xDesc: 'dataDescriptor',
      x: 'in',
      hDesc: 'tensorDescriptor',
      hx: 'in?',
      yDesc: 'dataDescriptor',
      y: 'in',
      dweightSpace: 'inout',
      workSpace: 'out',
      reserveSpace: 'in',
    },
  },

  /** Softmax is part of the loss; gradients past a row's length are 0. */
  setCtcLossDescriptor: {
    call: 'cudnnSetCTCLossDescriptor_v8',
    fields: { descriptor: 'new ctcLossDescriptor', maxLabelLength: 'int' },
  },
  /** Reports bytes. cuDNN also checks here whether it supports the sizes: packages/cudnn uses the host if not. */
  ctcLossWorkspaceSize: {
    call: 'cudnnGetCTCLossWorkspaceSize_v8',
    fields: { algo: 'int', descriptor: 'ctcLossDescriptor', probsDesc: 'tensorDescriptor' },
  },
  /**
   * probs, gradients [T,B,K]; labels of all rows, one behind the other; the blank is class 0. Labels and lengths are in
   * device memory, unlike the older cudnnCTCLoss's, so a graph can hold this call.
   */
  ctcLoss: {
    call: 'cudnnCTCLoss_v8',
    fields: {
      algo: 'int',
      descriptor: 'ctcLossDescriptor',
      probsDesc: 'tensorDescriptor',
      probs: 'in',
      labels: 'in',
      labelLengths: 'in',
      inputLengths: 'in',
      costs: 'out',
      gradientsDesc: 'tensorDescriptor',
      gradients: 'out',
      workspace: 'out',
    },
  },

  /**
   * C = op(A)·op(B) + beta·C. Column-major, as cuBLAS; alpha is 1, and A and B have one type. Offsets are in bytes.
   * `computeType` is the type of the sums, and decides on TF32.
   */
  matrixProduct: {
    call: 'cublasGemmEx',
    fields: {
      opA: 'int',
      opB: 'int',
      m: 'int',
      n: 'int',
      k: 'int',
      a: 'in',
      aOffset: 'size',
      lda: 'int',
      b: 'in',
      bOffset: 'size',
      ldb: 'int',
      beta: 'double',
      c: 'inout',
      cOffset: 'size',
      ldc: 'int',
      typeA: 'int',
      typeC: 'int',
      computeType: 'int',
    },
  },
  /** `batchCount` products whose matrices are the given numbers of elements apart, 0 for one that is the same. */
  matrixProducts: {
    call: 'cublasGemmStridedBatchedEx',
    fields: {
      opA: 'int',
      opB: 'int',
      m: 'int',
      n: 'int',
      k: 'int',
      a: 'in',
      lda: 'int',
      strideA: 'size',
      b: 'in',
      ldb: 'int',
      strideB: 'size',
      c: 'out',
      ldc: 'int',
      strideC: 'size',
      batchCount: 'int',
      typeA: 'int',
      computeType: 'int',
    },
  },
  /**
   * Loads the kernels of native/cudnn/kernels from a cubin or PTX of NVRTC; `isDouble`: their element type. A cubin runs only on its major
   * compute capability; the driver translates PTX for every later one.
   */
  loadKernels: { call: 'cuModuleLoadData', fields: { image: 'source', isDouble: 'int' } },
  /** One of these kernels by its number in `KERNELS`, and its fields. */
  launchKernel: { call: 'cuLaunchKernel', fields: { kernel: 'int', blocks: 'int', threads: 'int' } },
  /**
   * Loads the kernels of native/cudnn/kernels/persistent.cu, compiled for one shape, and allows each of the two passes its
   * shared memory. Reports for each how many blocks a multiprocessor runs at once, or for a pass whose clusters have blocks how
   * many clusters the device does.
   */
  loadPersistent: {
    call: 'cuModuleLoadData',
    fields: {
      ...{ module: 'new kernelModule', image: 'source', forwardCluster: 'int', backwardCluster: 'int' },
      ...{ threads: 'int', forwardBytes: 'int', backwardBytes: 'int' },
    },
  },
  /**
   * One of these kernels by its number in `PERSISTENT_KERNELS`, and its fields: `blocks` of units by `groups` of rows, which
   * all run at the same time if the launch `isCooperative`.
   */
  launchPersistent: {
    call: 'cuLaunchCooperativeKernel',
    fields: {
      module: 'kernelModule',
      kernel: 'int',
      isCooperative: 'int',
      blocks: 'int',
      groups: 'int',
      threads: 'int',
      sharedBytes: 'int',
    },
  },
  /** Forgets that a persistent kernel waited too long, after a trial: see Note [Watch] in persistent.cu. */
  clearWatch: { fields: {} },
  /**
   * Runs a captured list with one call in place of one call for each kernel. A graph holds addresses: its buffers are
   * the capture's, and a launch fails once a buffer that it reads has been released.
   */
  launchGraph: { call: 'cudaGraphLaunch', fields: { exec: 'graph' } },
} as const satisfies Readonly<Record<string, CommandShape>>

export type CommandName = keyof typeof COMMANDS

/** Modes of a submission: the bits of the first number of a message. */
export const MODE = Object.freeze({
  /** A list of an exclusive section: it passes the lists that wait for the section's end. */
  exclusive: 1,
  /** Once this submission succeeds, the worker runs lists of the section only. A failed one begins no section. */
  beginExclusive: 2,
  endExclusive: 4,
  /** Settles when the device is done, not when the work is queued on it. */
  wait: 8,
  /** Returns a promise. */
  promise: 16,
  /** Reports the milliseconds between two events on the stream around the list; blocks the worker. */
  timed: 32,
  /** A list that may hold many operations: a segment that fails before it runs leaves the objects it writes valid. */
  step: 64,
  /** Runs only if the last capture of the session succeeded. The worker decides, so both ways are queued together. */
  ifCaptured: 128,
  unlessCaptured: 256,
} as const)
