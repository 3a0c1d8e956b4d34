// The table of commands that packages/cudnn submits to a session's worker. The TypeScript types below, the encoding in
// device/command_list.ts and the C++ structs of commands.h, which CMake writes by scripts/build/generate_commands.mjs,
// follow from it and from the table of kernels. The script compares both with the prototypes of NVIDIA's functions
// (native/cudnn/src/*_symbols.def) and of the kernels (native/cudnn/kernels).

/** How a field is passed. `?`: may be left out; `!`: made by the command. */
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
  /** Kernels of one shape. */
  | `kernelModule${'' | '!'}`
  | `${'tensor' | 'data' | 'dropout' | 'rnn' | 'ctcLoss'}Descriptor${'' | '?' | '!'}`

export type FieldKinds = Readonly<Record<string, Kind>>

/** The pairs of name and kind in the text of {@link fields}. */
type FieldPairs<Text extends string> = Text extends `${infer First}, ${infer Rest}`
  ? FieldPairs<First> | FieldPairs<Rest>
  : Text extends `${infer Kind} ${infer Name} ${infer Names}`
    ? [Name, Kind] | FieldPairs<`${Kind} ${Names}`>
    : Text extends `${infer Kind} ${infer Name}`
      ? [Name, Kind]
      : never

type Fields<Text extends string> = { readonly [Pair in FieldPairs<Text> as Pair[0]]: Pair[1] }

/** Fields in order as a prototype has them, `'in x y, size count'`: a kind and the names that have it. */
export function fields<const Text extends string>(...texts: readonly Text[]): Fields<Text> {
  const groups = texts.flatMap((text) => text.split(', ')).map((group) => group.split(' '))
  const pairs = groups.flatMap(([kind, ...names]) => names.map((name) => [name, kind]))
  return Object.fromEntries(pairs) as Fields<Text>
}

export interface CommandShape {
  /** NVIDIA's function. Its parameters have the names of the fields. */
  readonly call?: string
  readonly fields: FieldKinds
}

const call = <const Text extends string>(name: string, ...texts: readonly Text[]) => ({
  call: name,
  fields: fields(...texts),
})
/** A command that the worker carries out itself. */
const worker = <const Text extends string>(...texts: readonly Text[]) => ({ fields: fields(...texts) })

/**
 * By name; the place in this table is the number of a command. The calls of cuDNN and their parameters are documented at
 * https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-adv-library.html.
 */
export const COMMANDS = {
  /** Begins a segment: commands that succeed or fail together. */
  segment: worker(),
  /** The memory of a buffer, before the other commands of the segment run. */
  allocate: worker('out buffer, size bytes'),
  /** Host memory in place of a buffer, never freed: the validation tests the device's response to a host pointer. */
  allocateOnHost: worker('out buffer, size bytes'),
  /** Frees a buffer or destroys a descriptor, after the other commands of the segment and even if they failed. */
  release: worker('out buffer'),
  /**
   * Copies a host array to the device. The array is copied when the command is submitted, so JavaScript may change it
   * afterwards: cudaMemcpyAsync is asynchronous only from page-locked memory, which an ArrayBuffer is not.
   */
  upload: worker('out to, size offset, source from'),
  /** `to` is filled when a submission that waits for the device settles. */
  download: worker('in from, size offset, target to'),
  /** On the device, in stream order. The ranges must not overlap: cudaMemcpyAsync leaves that undefined. */
  copy: call('cudaMemcpyAsync', 'out to, size toOffset, in from, size fromOffset bytes'),
  /** Sets bytes to 0. */
  clear: call('cudaMemsetAsync', 'out to, size offset bytes'),
  /** Sets all bits of all bytes, which means "not there yet" to a persistent kernel. */
  markEmpty: call('cudaMemsetAsync', 'out to, size offset bytes'),
  /** Reports free and total bytes. */
  memoryInfo: call('cudaMemGetInfo'),
  /** Waits for the device, then returns the free memory of the pool to the system, where other processes can get it. */
  trimMemory: call('cudaMemPoolTrimTo'),

  /**
   * Three dimensions [L·D,B,columns], fully packed: cuDNN requires packed states (h, c) and packed CTC probabilities.
   */
  setTensorDescriptor: call(
    'cudnnSetTensorNdDescriptor',
    'tensorDescriptor! descriptor, int dtype layers batch columns',
  ),
  /**
   * A sequence [T,B,vectorSize] and the length of each row. `seqLengthArray` is in host memory and is copied by the call.
   * `paddingFill` is one element of `dtype`, written to outputs past a row's length; null leaves them undefined.
   */
  setDataDescriptor: call(
    'cudnnSetRNNDataDescriptor',
    'dataDescriptor! descriptor, int dtype layout maxSeqLength batchSize vectorSize',
    'source seqLengthArray, source? paddingFill',
  ),
  /**
   * Runs a kernel that fills `states` from the seed, which takes milliseconds: a network makes its generator once. The
   * descriptor keeps the address of `states`, so the buffer must outlive it.
   */
  setDropoutDescriptor: call(
    'cudnnSetDropoutDescriptor',
    'dropoutDescriptor! descriptor, double rate, out states, double seed',
  ),
  /**
   * `projSize` equals `hiddenSize` in a network without a projection. `mathPrec` is the type in which products are
   * accumulated; `mathType` allows or forbids Tensor Cores and TF32. `clip` is the limit of cudnnRNNSetClip_v9 or _v8.
   */
  setRnnDescriptor: call(
    'cudnnSetRNNDescriptor_v8',
    'rnnDescriptor! descriptor',
    'int algo cellMode biasMode dirMode inputMode dataType mathPrec mathType inputSize hiddenSize projSize numLayers',
    'dropoutDescriptor? dropout, int auxFlags, double? clip',
  ),

  /** Reports the bytes of the weight space. packages/cudnn compares them with the canonical layout, which it assumes. */
  weightSpaceSize: call('cudnnGetRNNWeightSpaceSize', 'rnnDescriptor descriptor'),
  /**
   * Reports byte offset (-1: absent), rows, columns of the matrix, then of the bias. A pseudo-layer is one direction of
   * one layer: its index is layer · D + direction. `linLayerID` numbers the gates: input side first, recurrent side next,
   * and 8 for the LSTM's projection.
   */
  weightParams: call(
    'cudnnGetRNNWeightParams',
    'rnnDescriptor descriptor, int pseudoLayer, size weightSpaceSize, int linLayerID',
  ),
  /**
   * Compiles kernels for one batch size by NVRTC; only for the algorithm `persist_dynamic`. cuDNN requires it before the
   * first pass, and again when the batch size changes.
   */
  buildRnnDynamic: call('cudnnBuildRNNDynamic', 'rnnDescriptor descriptor, int batch'),
  /**
   * Reports bytes of workspace and reserve space. Workspace may be shared by all calls of a stream. The reserve space
   * belongs to one training forward: its backward reads it.
   */
  tempSpaceSizes: call('cudnnGetRNNTempSpaceSizes', 'rnnDescriptor descriptor, int mode, dataDescriptor xDesc'),
  /**
   * y, hy and cy of one pass. Since cuDNN 8.9.1 `devSeqLengths` is optional: without it cuDNN reads the lengths of the
   * data descriptors. A null `hx` or `cx` is a state of zeros. `reserveSpace` is required in training and null in
   * inference.
   */
  rnnForward: call(
    'cudnnRNNForward',
    'rnnDescriptor descriptor, int mode, in? devSeqLengths, dataDescriptor xDesc, in x',
    'dataDescriptor yDesc, out y, tensorDescriptor hDesc, in? hx, out hy, tensorDescriptor? cDesc, in? cx',
    'out? cy, in weightSpace, out workSpace, out? reserveSpace',
  ),
  /**
   * dx, dhx and dcx. It must precede `rnnBackwardWeights`, which reads intermediate values that this call leaves in the
   * reserve space. The table still lists the reserve space as an input: a failed backward must not mark it invalid, so
   * that the caller can run the backward again.
   */
  rnnBackwardData: call(
    'cudnnRNNBackwardData_v8',
    'rnnDescriptor descriptor, in? devSeqLengths, dataDescriptor yDesc, in y dy, dataDescriptor xDesc',
    'out dx, tensorDescriptor hDesc, in? hx dhy, out dhx, tensorDescriptor? cDesc, in? cx dcy, out? dcx',
    'in weightSpace, out workSpace, in reserveSpace',
  ),
  /**
   * Adds to `dweightSpace`: cuDNN supports `CUDNN_WGRAD_MODE_ADD` only, so the caller clears the buffer before. Runs after
   * `rnnBackwardData` with the same reserve space.
   */
  rnnBackwardWeights: call(
    'cudnnRNNBackwardWeights_v8',
    'rnnDescriptor descriptor, int addGrad, in? devSeqLengths, dataDescriptor xDesc, in x',
    'tensorDescriptor hDesc, in? hx, dataDescriptor yDesc, in y, inout dweightSpace, out workSpace',
    'in reserveSpace',
  ),

  /** Softmax is part of the loss; gradients past a row's length are 0. */
  setCtcLossDescriptor: call('cudnnSetCTCLossDescriptor_v8', 'ctcLossDescriptor! descriptor, int maxLabelLength'),
  /** Reports bytes. cuDNN also checks here whether it supports the sizes: packages/cudnn uses the host if not. */
  ctcLossWorkspaceSize: call(
    'cudnnGetCTCLossWorkspaceSize_v8',
    'int algo, ctcLossDescriptor descriptor, tensorDescriptor probsDesc',
  ),
  /**
   * probs, gradients [T,B,K]; labels of all rows, one behind the other; the blank is class 0. Labels and lengths are in
   * device memory, unlike the older cudnnCTCLoss's, so a graph can hold this call.
   */
  ctcLoss: call(
    'cudnnCTCLoss_v8',
    'int algo, ctcLossDescriptor descriptor, tensorDescriptor probsDesc',
    'in probs labels labelLengths inputLengths, out costs, tensorDescriptor gradientsDesc',
    'out gradients workspace',
  ),

  /**
   * C = op(A)·op(B) + beta·C. Column-major, as cuBLAS; alpha is 1, and A and B have one type. Offsets are in bytes.
   * `computeType` is the type of the sums, and decides on TF32.
   */
  matrixProduct: call(
    'cublasGemmEx',
    'int opA opB m n k, in a, size aOffset, int lda, in b, size bOffset, int ldb, double beta, inout c',
    'size cOffset, int ldc typeA typeC computeType',
  ),
  /** `batchCount` products whose matrices are the given numbers of elements apart, 0 for one that is the same. */
  matrixProducts: call(
    'cublasGemmStridedBatchedEx',
    'int opA opB m n k, in a, int lda, size strideA, in b, int ldb, size strideB, out c, int ldc',
    'size strideC, int batchCount typeA computeType',
  ),
  /**
   * Loads the kernels of native/cudnn/kernels from a cubin or PTX of NVRTC; `isDouble`: their element type. A cubin runs only on its major
   * compute capability; the driver translates PTX for every later one.
   */
  loadKernels: call('cuModuleLoadData', 'source image, int isDouble'),
  /** One of these kernels by its number in `KERNELS`, and its fields. */
  launchKernel: call('cuLaunchKernel', 'int kernel blocks threads'),
  /**
   * Loads the kernels of native/cudnn/kernels/persistent.cu, compiled for one shape, and allows each of the two passes its
   * shared memory. Reports for each how many blocks a multiprocessor runs at once, or for a pass whose clusters have blocks how
   * many clusters the device does.
   */
  loadPersistent: call(
    'cuModuleLoadData',
    'kernelModule! module, source image',
    'int forwardCluster backwardCluster threads forwardBytes backwardBytes',
  ),
  /**
   * One of these kernels by its number in `PERSISTENT_KERNELS`, and its fields: `blocks` of units by `groups` of rows, which
   * all run at the same time if the launch `isCooperative`.
   */
  launchPersistent: call(
    'cuLaunchCooperativeKernel',
    'kernelModule module, int kernel isCooperative blocks groups threads sharedBytes',
  ),
  /** Forgets that a persistent kernel waited too long, after a trial: see Note [Watch] in persistent.cu. */
  clearWatch: worker(),
  /**
   * Runs a captured list with one call in place of one call for each kernel. A graph holds addresses: its buffers are
   * the capture's, and a launch fails once a buffer that it reads has been released.
   */
  launchGraph: call('cudaGraphLaunch', 'graph exec'),
} satisfies Readonly<Record<string, CommandShape>>

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
