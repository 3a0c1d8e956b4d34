// The callables that the walk covers, and those that it leaves out, with the reason.

/** Methods that are declared as properties and are ours to check, not a caller's. */
export const OUR_CALLBACKS = new Set(['ModelFromNetwork.run', 'CellFromNetwork.run'])

/** Owners whose methods each executor implements, or whose results come from it: they are walked on all of them. */
export const ON_EVERY_EXECUTOR = new Set([
  'Backend',
  'BackendTensor',
  'Communicator',
  'CudnnGRU',
  'CudnnLSTM',
  'CudnnTensor',
  'DenseOps',
  'LayerOps',
  'Optimizer',
  'PooledStream',
  'Rnn',
  'RnnStepper',
  'Stream',
  'StreamPool',
  'Tape',
  'TrainingSteps',
  'Variable',
])

/** Owners and functions that only one executor has. */
export const ON_ONE_EXECUTOR = new Map([
  ['CudnnBackend', 'cudnn'],
  ['CudnnTensor', 'cudnn'],
  ['openCudnnBackend', 'cudnn'],
  ['TrainingSteps', 'cudnn'],
  ['CpuBackend', 'cpu'],
])

/** Calls that an executor or a runtime refuses for any arguments: their labels, and the code of the refusal. */
export const REFUSED_WHOLE = new Map([
  // It ends the process, which the walk forbids (walk_calls.mjs).
  ['distributed: Communicator.abort', 'ERR_WALK_GOES_ON'],
  // Without NCCL and a GPU.
  ['cudnn: openNccl', 'ERR_BACKEND_UNAVAILABLE'],
  // TensorFlow.js can be accelerated once, and the walk calls it again.
  ['tfjs: accelerate', 'ERR_TFJS_ACCELERATED'],
  // Before Node.js 24.
  ['cudnn: CudnnTensor.readFloat16', 'ERR_NO_FLOAT16_ARRAY'],
])

/** Callables that are left out of every walk: a pattern of their labels, and why. */
export const LEFT_OUT = [
  [
    /^(train: (Cell\.|Value\.|scan$)|cells: tensorRnn$)/,
    'they exist on a tape, inside a function: tests of packages/differential and cells pass them wrong arguments',
  ],
  [
    /^ops: (SharedMemory|HostProducts|HostLstm|RnnQueuedStepper)\./,
    'a part of an executor that models and cells use, on lengths and arrays that they have checked',
  ],
  [
    /: new (\w*Error)$/,
    'an error class is exported for instanceof: the library makes its instances, with its own texts',
  ],
  [
    /^cells: (\w+\.(step|pass|sequencePass|zeroGradients|equations)|CellRun\.\w+|SequencePass\.backward|CellStep\.backward|SequenceRunner\.\w+|\w+\.variableSpecs)$/,
    'called by a wrapper for each step of a sequence, on arguments that call() has checked once; documented as unchecked',
  ],
  [
    /^layers: (\w+\.(forward|openStream)|LayerStream\.\w+|LayerDefinition\.build|LayerBuild\.variable|new RecurrentLayer)$/,
    'called by a model on its layers, on arguments that call() and stream() have checked once, or on the sizes it infers',
  ],
  [
    /^train\/ctc: (checkCtcLossSettings|ctcBlank)$/,
    'used by the losses of layers: their action and names are literals in the source of the caller, and the settings that they check are walked in ctcLoss',
  ],
  [
    /^ops: DeviceGroups?\./,
    'needs NCCL and GPUs: packages/cudnn/test/device_group_failures.test.ts calls them with wrong arguments over the emulator',
  ],
  [
    /^checkpoint: (FileStore|MemoryStore|StoreLock|DirectoryHandleLike)\./,
    'called by savers and readers on the names that they make; a caller or the browser implements the interfaces',
  ],
  [/^tfjs: Acceleration\./, 'its methods take no arguments'],
  [
    /^cudnn: (Nccl|NcclCommunicator|StreamCalls)\./,
    'needs NCCL and a GPU: packages/distributed/test/nccl.test.ts calls them over the emulator',
  ],
  [/^layers: LayerTape\.(of|consume)$/, 'a tape is used up by gradients()'],
  [/^layers: \w+\.record$/, 'it runs on a tape, inside a function: tests of packages/layers pass it wrong arguments'],
  [/^cells: (new CellTape|CellTape\.(checkOpen|consume))$/, 'a tape is made and used up by the call that returns it'],
  [
    /^(canonical: AbortSignalLike|checkpoint: (BlobLike|ResponseLike)|rnn\/report: ProgressStream|train: Schedule|train\/ctc: PrefixScorer|models: (RowNetwork|ServedPool|ServingPort|WorkerThread))\b/,
    'an interface that callers implement',
  ],
]
