// Instances to walk: one of every class and interface of the public API that has methods, by the name of its type; and
// values of types that the declarations alone do not describe.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

/** Sizes of every network here: I = 3, so that nothing skips the input matrices. */
const SIZES = { numLayers: 1, numUnits: 2, inputSize: 3 }

/**
 * @param api the modules of all packages, by their names without the scope.
 * @param executors where the instances live (executors.mjs).
 */
export function createSubjects(api, executors) {
  const { canonical, cells, checkpoint, distributed, interop, layers, models, ops, rnn, saveable, train } = api
  const tasks = api['layers/tasks']
  const open = () => executors.open()
  const tensor = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape })
  const scratch = () => mkdtempSync(join(process.cwd(), 'walk-'))
  const sequence = () => tensor(2, 1, 3)
  const descriptor = () => canonical.createRnnDescriptor({ ...SIZES, cellMode: 'lstm' })
  const canonicalOf = (of = descriptor()) => {
    const layout = canonical.flatLayout(of)
    return canonical.unpackCanonical(layout, new Float32Array(layout.size))
  }

  // One of each: a tape, parameters and a state belong to the network that made them.
  const kept = (make, isUsable) => {
    let value
    return () => {
      if (value === undefined || !isUsable(value)) value = make()
      return value
    }
  }
  const works = (use) => (value) => {
    try {
      use(value)
      return true
    } catch {
      return false
    }
  }
  const model = (name) =>
    kept(
      () => new models[name](open(), SIZES),
      works((value) => value.createParams().dispose()),
    )
  const lstm = model('CudnnLSTM')
  const pool = () => lstm().streamPool(lstm().createParams(), { maxStreams: 4 })
  const startWorker = () => new Worker(new URL('stream_worker.mjs', import.meta.url))
  let workerPool
  let workerStream
  /** Workers in threads; a call that ends one of them affects others, which is a failure. */
  const workers = async () => {
    if (workerPool === undefined || workerPool.toJSON().state === 'disposed') {
      const onWorkerLost = ({ reason }) => void Promise.reject(new Error(`A worker was lost: ${reason}`))
      workerPool = await models.openWorkerPool({ workers: 1, start: startWorker, onWorkerLost })
    }
    return workerPool
  }
  const streamOfWorker = async () => {
    const pool = await workers()
    if (workerStream === undefined || workerStream.closed) workerStream = pool.open()
    return workerStream
  }
  let world
  const communicator = async () => {
    // After `dispose` or `abort`.
    const isUsable = await world?.barrier().then(
      () => true,
      () => false,
    )
    if (!isUsable) world = await distributed.openCommunicator(executors.engine ?? 'none')
    return world
  }
  const network = kept(
    () => open().rnn(descriptor()),
    works((value) => value.canonicalToParams(canonicalOf()).dispose()),
  )
  const opaque = () => network().canonicalToParams(canonicalOf())
  const tape = async () => {
    const given = { input: sequence(), inputH: null, inputC: null, sequenceLengths: null, training: true }
    return (await network().forward({ ...given, params: opaque() })).tape
  }

  // Cells
  const built = (cell) => {
    cell.build(3)
    return cell
  }
  const cell =
    (name, ...args) =>
    () =>
      built(new cells[name](...(args.length > 0 ? args : [2])))
  const conv = (ndims) => {
    const ones = Array.from({ length: ndims }, () => 1)
    return { inputShape: [...ones, 3], outputChannels: 2, kernelShape: ones }
  }
  // Its output has the input's columns, as residual and highway connections need.
  const wrapped = (name, ...args) => cell(name, new cells.BasicRNNCell(3), ...args)()
  const fused = cell('LSTMBlockFusedCell')
  const cellTape = () => cell('LSTMBlockCell')().call(tensor(1, 3), cell('LSTMBlockCell')().zeroState(1)).tape

  // Saving
  const saveables = (name = 'RNNParamsSaveable') => {
    const mode = /GRU/.test(name)
      ? 'CudnnGRU'
      : /Relu/.test(name)
        ? 'CudnnRNNRelu'
        : /Tanh/.test(name)
          ? 'CudnnRNNTanh'
          : 'CudnnLSTM'
    const owner = new models[mode](open(), SIZES)
    return new saveable[name](owner.paramsToCanonical, owner.canonicalToParams, [owner.createParams()])
  }
  const plainSaveable = () =>
    new saveable.TensorSaveable(
      'v',
      () => tensor(2),
      () => {},
    )
  let savedPrefix
  /** A checkpoint of one network and one tensor, made once. */
  const prefix = async () => {
    savedPrefix ??= new saveable.Saver([saveables(), plainSaveable()]).save(join(scratch(), 'model'))
    return savedPrefix
  }
  const exported = async () =>
    interop.exportWeights([{ name: 'walk', descriptor: descriptor(), canonical: canonicalOf() }], {
      format: 'safetensors',
    })
  const weightFile = async () => interop.openWeightFile(await exported())
  const importedWeights = async () => interop.importWeights(await exported())
  const importedNetwork = async () => (await importedWeights()).networks[0]
  const importedCell = () => ({
    ...{ name: '', convention: 'onnx', cell: 'GRUBlockCell', numUnits: 2, options: {}, reverse: false, inputs: {} },
    ...{ tensorNames: [], notes: [], variables: Object.fromEntries(cell('GRUBlockCell')().variables) },
  })

  // Training
  const trainable = () => ({ name: 'v', backend: open(), value: open().zeros([2]) })
  const optimizer = (name, options) => () => {
    const made = new train[name]([trainable()], options)
    made.restoreStep(1)
    return made
  }
  const numbers = () => train.Dataset.fromArray([1, 2, 3, 4])
  const windows = () => train.truncatedWindows(Int32Array.of(1, 2, 3, 4, 5), { time: 2, batch: 1 })
  const reports = () => [{ step: 1, loss: 1, learningRate: 0.1, gradientNorm: 1, skipped: false, seconds: 1 }]

  // Whole models: [T,B,3] to [T,B,2]
  const wholeModel = kept(
    () => layers.sequential(open(), [layers.cudnnGRU({ numUnits: 2, inputSize: 3 }), layers.dense({ units: 2 })]),
    works((value) => {
      if (value.variables.some(({ value: tensor }) => tensor.disposed)) throw new Error('disposed')
      value.stream().dispose()
    }),
  )

  // A graph of ONNX: [B,3] to [B,2], one step of a GRU that starts from zeros
  const onnxGraph = () => {
    const shapes = { x: ['batch', 3], y: ['batch', 2] }
    const [input, output] = Object.entries(shapes).map(([name, shape]) => ({ name, elementType: 'float32', shape }))
    const attributes = { hidden_size: 2, linear_before_reset: 1 }
    const nodes = [
      { opType: 'Unsqueeze', name: 'steps', inputs: ['x', 'first'], outputs: ['sequence'] },
      { opType: 'GRU', name: 'gru', inputs: ['sequence', 'W', 'R'], outputs: ['states'], attributes },
      { opType: 'Squeeze', name: 'rows', inputs: ['states', 'both'], outputs: ['y'] },
    ]
    const initializers = { first: [0], both: [0, 1], W: tensor(1, 6, 3), R: tensor(1, 6, 2) }
    return interop.encodeOnnxModel({ name: 'walk', nodes, initializers, inputs: [input], outputs: [output] }, 8, 17)
  }
  const openGraph = async () => api.graphs.openGraph(onnxGraph(), { ort: await import('onnxruntime-node') })

  // Tasks
  const labeledTexts = () => ['a', 'b'].map((label) => ({ text: `walk ${label}`, label }))
  const timeSeries = () => ({ values: Array.from({ length: 24 }, (_, index) => (index * index) % 7) })
  const forecasterSizes = () => ({ window: 3, horizon: 2, heldOut: 4, numUnits: 2, maxSteps: 2 })
  const forecasterTraining = () => new tasks.ForecasterTraining(open(), [timeSeries()], forecasterSizes())

  return {
    // Executors
    Backend: open,
    BackendTensor: () => open().zeros([2]),
    CpuBackend: open,
    CudnnBackend: open,
    CudnnTensor: () => open().zeros([2]),
    DenseOps: () => open().ops,
    LayerOps: () => open().ops,
    HostBackend: open,
    HostTensor: () => open().zeros([2]),
    OpaqueParams: opaque,
    Philox: () => new api['rnn/executors'].Philox(1),
    ReadableTensor: () => open().zeros([2]),
    ReferenceBackend: open,
    ReferenceRnn: network,
    Rnn: network,
    RnnStepper: () => network().stepper?.(opaque(), 1),
    Tape: tape,
    TrainingSteps: () => open().steps ?? { run: undefined },
    // The voice server
    SpeechPool: pool,
    VoiceServer: () => new api['voice-server'].VoiceServer({ pool: pool() }),
    // Models
    CudnnGRU: model('CudnnGRU'),
    CudnnLSTM: lstm,
    CudnnRNNRelu: model('CudnnRNNRelu'),
    CudnnRNNTanh: model('CudnnRNNTanh'),
    Inspectable: lstm,
    ParamVariable: () => lstm().createParams(),
    Params: () => lstm().createParams(),
    RecurrentModel: lstm,
    Stream: () => lstm().stream(lstm().createParams()),
    StreamPool: pool,
    PooledStream: () => pool().open(),
    WorkerPool: workers,
    WorkerStream: streamOfWorker,
    Variable: () => lstm().createParams(),
    // Host values
    AbortSignal: () => new AbortController().signal,
    ArrayBuffer: () => new ArrayBuffer(8),
    ArrayBufferLike: () => new ArrayBuffer(8),
    ArrayBufferView: () => new Float32Array(2),
    BigInt64Array: () => new BigInt64Array(2),
    Blob: () => new Blob(['walk']),
    CanonicalParams: () => canonicalOf(),
    Date: () => new Date(0),
    Error: () => new Error('walk'),
    Float32Array: () => new Float32Array(2),
    Float64Array: () => new Float64Array(2),
    FloatArray: () => new Float32Array(2),
    FloatTensor: () => tensor(1, 3),
    Int32Array: () => new Int32Array(2),
    Map: () => new Map(),
    ParamLayout: () => canonical.flatLayout(descriptor()),
    RnnDescriptor: descriptor,
    Tensor: sequence,
    TensorLike: sequence,
    Uint8Array: () => new Uint8Array(8),
    Uint8ArrayConstructor: () => Uint8Array,
    // Checkpoints and weight files
    ByteSource: () => checkpoint.memorySource('walk', new Uint8Array(64)),
    CellFromNetwork: () => rnn.modelFromNetwork(open(), importedCell()),
    CheckpointReader: async () => checkpoint.openCheckpoint(await prefix()),
    CudnnGRUSaveable: () => saveables('CudnnGRUSaveable'),
    CudnnLSTMSaveable: () => saveables('CudnnLSTMSaveable'),
    CudnnParamsFormatConverterGRU: () => new saveable.CudnnParamsFormatConverterGRU(SIZES),
    CudnnParamsFormatConverterLSTM: () => new saveable.CudnnParamsFormatConverterLSTM(SIZES),
    CudnnParamsFormatConverterRelu: () => new saveable.CudnnParamsFormatConverterRelu(SIZES),
    CudnnParamsFormatConverterTanh: () => new saveable.CudnnParamsFormatConverterTanh(SIZES),
    CudnnRNNReluSaveable: () => saveables('CudnnRNNReluSaveable'),
    CudnnRNNTanhSaveable: () => saveables('CudnnRNNTanhSaveable'),
    FileLock: () => checkpoint.FileLock.acquire(join(scratch(), 'lock')),
    ImportedCell: importedCell,
    ImportedNetwork: importedNetwork,
    ImportedWeights: importedWeights,
    ModelFromNetwork: async () => rnn.modelFromNetwork(open(), await importedNetwork()),
    RNNParamsSaveable: () => saveables(),
    Saveable: () => saveables(),
    Saver: () => new saveable.Saver([saveables(), plainSaveable()]),
    StoredTensor: async () => (await weightFile()).tensors[0],
    TensorSaveable: plainSaveable,
    OpenWeightFile: weightFile,
    WeightFile: weightFile,
    // Training
    Adagrad: optimizer('Adagrad'),
    Adam: optimizer('Adam'),
    CanonicalMap: lstm,
    CanonicalReader: lstm,
    Cursor: () => windows().open(undefined, 0),
    Communicator: communicator,
    Dataset: numbers,
    DatasetIterator: () => numbers().iterate(),
    EventFile: () => train.EventFile.create(scratch()),
    MetricsFile: () => train.MetricsFile.open(join(scratch(), 'metrics.jsonl')),
    NGramModel: () => api['train/ctc'].NGramModel.train([[...'walk']], { order: 2 }),
    Optimizer: optimizer('Sgd'),
    RmsProp: optimizer('RmsProp'),
    Parallel: () =>
      train.makeParallel(
        (device) => {
          const value = device.zeros([2])
          return {
            variables: [{ name: 'v', value }],
            batchGradients: async () => ({ loss: 0, gradients: [device.zeros([2])] }),
          }
        },
        [open()],
      ),
    Schedule: () => train.constantRate(0.1),
    Sgd: optimizer('Sgd'),
    Source: windows,
    StepReport: () => reports()[0],
    TerminalProgress: () => new api['rnn/report'].TerminalProgress({ write: () => true }, { total: 3 }),
    Trainable: trainable,
    TrainingSaver: () => new layers.TrainingCheckpoints(open(), scratch()),
    Vocabulary: () => new train.Vocabulary([...'walk']),
    // Whole models
    Layer: () => wholeModel().layers[1],
    LayerBuild: () => new layers.LayerBuild(open(), 1),
    LayerDefinition: () => layers.dense({ units: 2 }),
    LayerTape: async () => (await wholeModel().call(sequence())).tape,
    ModelStream: () => wholeModel().stream(),
    RecurrentLayer: () => wholeModel().layers[0],
    LayersModel: wholeModel,
    TrainingCheckpoints: () => new layers.TrainingCheckpoints(open(), scratch()),
    // Graphs
    Graph: openGraph,
    GraphStream: async () => (await openGraph()).stream(),
    GraphStreamPool: async () => (await openGraph()).streamPool({ maxStreams: 4 }),
    PooledGraphStream: async () => (await (await openGraph()).streamPool({ maxStreams: 4 })).open(),
    // Tasks
    Forecaster: () => forecasterTraining().finish(),
    ForecasterTraining: forecasterTraining,
    TextClassifier: () => tasks.createTextClassifier(open(), labeledTexts(), { numUnits: 2, embeddingSize: 2 }),
    // Cells
    AttentionCellWrapper: () => wrapped('AttentionCellWrapper', 2),
    BasicLSTMCell: cell('BasicLSTMCell'),
    BasicRNNCell: cell('BasicRNNCell'),
    CellTape: cellTape,
    CellVariables: cell('LSTMBlockCell'),
    CheckpointVariable: () => cells.checkpointVariables(cell('LSTMBlockCell')())[0],
    Conv1DLSTMCell: cell('Conv1DLSTMCell', conv(1)),
    Conv2DLSTMCell: cell('Conv2DLSTMCell', conv(2)),
    Conv3DLSTMCell: cell('Conv3DLSTMCell', conv(3)),
    ConvLSTMCell: cell('ConvLSTMCell', { ...conv(1), convNdims: 1 }),
    CudnnCompatibleGRUCell: cell('CudnnCompatibleGRUCell'),
    CudnnCompatibleLSTMCell: cell('CudnnCompatibleLSTMCell'),
    DropoutWrapper: () => wrapped('DropoutWrapper', { inputKeepProb: 0.5 }),
    FusedRNNCell: fused,
    FusedRNNCellAdaptor: () => new cells.FusedRNNCellAdaptor(cell('LSTMBlockCell')()),
    GLSTMCell: cell('GLSTMCell', 2, { numberOfGroups: 1 }),
    GRUBlockCell: cell('GRUBlockCell'),
    HighwayWrapper: () => wrapped('HighwayWrapper'),
    LSTMBlockCell: cell('LSTMBlockCell'),
    LSTMBlockFusedCell: fused,
    LSTMCell: cell('LSTMCell'),
    LayerNormBasicLSTMCell: cell('LayerNormBasicLSTMCell'),
    MultiRNNCell: () => built(new cells.MultiRNNCell([new cells.LSTMBlockCell(2), new cells.GRUBlockCell(2)])),
    NASCell: cell('NASCell'),
    PhasedLSTMCell: cell('PhasedLSTMCell'),
    RNNCell: cell('LSTMBlockCell'),
    ResidualWrapper: () => wrapped('ResidualWrapper'),
    SequenceRunner: fused,
    TimeReversedFusedRNN: () => new cells.TimeReversedFusedRNN(fused()),
    UGRNNCell: cell('UGRNNCell'),
    // Errors
    BackendUnavailableError: () => new ops.BackendUnavailableError('walk', [], ''),
    // What fitting_arguments.mjs is made of; no types of these names exist.
    $: () => ({
      onnxGraph,
      tensor,
      scratch,
      sequence,
      descriptor,
      canonicalOf,
      conv,
      opaque,
      prefix,
      exported,
      saveables,
      startWorker,
      cudnnOptions: () => ({ ...executors.options }),
      reports,
      labeledTexts,
      timeSeries,
      forecasterSizes,
      writeFileSync,
    }),
  }
}
