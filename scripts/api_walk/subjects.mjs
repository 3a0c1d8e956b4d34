// Instances to walk: a fresh one of every class and interface of the public API that has methods, by the name of its type.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @param api the modules of all packages, by their names without the scope. */
export function createSubjects(api) {
  const { backend, canonical, cells, checkpoint, models, reference, rnn, saveable, train } = api
  const open = () => reference.openReferenceBackend()
  const sizes = { numLayers: 1, numUnits: 2, inputSize: 2 }
  const tensor = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape })
  const sequence = () => tensor(2, 1, 2)
  const model = (name) => () => new models[name](open(), sizes)
  const lstm = model('CudnnLSTM')
  const descriptor = () => canonical.createRnnDescriptor({ ...sizes, cellMode: 'lstm' })
  const network = () => open().rnn(descriptor())
  const variable = () => lstm().createParams()
  const scratch = () => mkdtempSync(join(process.cwd(), 'walk-'))
  const built = (cell, inputSize = 2) => {
    cell.build(inputSize)
    return cell
  }
  const canonicalTensors = async () => {
    const owner = lstm()
    return { owner, tensors: await owner.paramsToCanonical(owner.createParams()) }
  }
  const saveables = async () => {
    const owner = lstm()
    const params = owner.createParams()
    return new saveable.RNNParamsSaveable(owner.paramsToCanonical, owner.canonicalToParams, [params], 'walk')
  }
  const prefix = async () => {
    const path = join(scratch(), 'model')
    await checkpoint
      .writeCheckpoint(path, [{ name: 'v', shape: [2], dtype: 'float32', data: new Float32Array(2) }])
      .catch(() =>
        new saveable.Saver([
          new saveable.TensorSaveable(
            'v',
            () => tensor(2),
            () => {},
          ),
        ]).save(path),
      )
    return path
  }
  const trainable = () => {
    const executor = open()
    return { executor, variable: new models.Variable(executor, executor.zeros([2]), 'v') }
  }
  const optimizer = (name, options) => () => {
    const { executor, variable: trained } = trainable()
    return new train[name](executor, [trained], { learningRate: train.constantRate(0.1), ...options })
  }
  const tape = async () => {
    const rnnOf = network()
    const given = { input: sequence(), inputH: null, inputC: null, sequenceLengths: null, training: true }
    return (await rnnOf.forward({ ...given, params: rnnOf.canonicalToParams((await canonicalTensors()).tensors) })).tape
  }
  const cell = () => built(new cells.LSTMBlockCell(2))
  return {
    // Executors
    Backend: open,
    HostBackend: open,
    ReferenceBackend: open,
    BackendTensor: () => open().zeros([2]),
    DenseOps: () => open().ops,
    Rnn: network,
    ReferenceRnn: network,
    RnnStepper: () => network().stepper(tensor(network().paramsSize), 1),
    Tape: tape,
    Philox: () => new api['executor-kit'].Philox(1),
    // Models
    CudnnLSTM: lstm,
    CudnnGRU: model('CudnnGRU'),
    CudnnRNNRelu: model('CudnnRNNRelu'),
    CudnnRNNTanh: model('CudnnRNNTanh'),
    Variable: variable,
    Params: variable,
    Stream: () => {
      const owner = lstm()
      return owner.stream(owner.createParams())
    },
    // Host values
    Tensor: sequence,
    FloatTensor: () => tensor(1, 2),
    TensorLike: sequence,
    RnnDescriptor: descriptor,
    CanonicalParams: async () => (await canonicalTensors()).tensors,
    ParamLayout: () => canonical.flatLayout(descriptor()),
    FloatArray: () => new Float32Array(2),
    Float32Array: () => new Float32Array(2),
    Float64Array: () => new Float64Array(2),
    Int32Array: () => new Int32Array(2),
    Uint8Array: () => new Uint8Array(8),
    Uint8ArrayConstructor: () => Uint8Array,
    ArrayBuffer: () => new ArrayBuffer(8),
    ArrayBufferLike: () => new ArrayBuffer(8),
    Blob: () => new Blob(['walk']),
    AbortSignal: () => new AbortController().signal,
    Error: () => new Error('walk'),
    Date: () => new Date(0),
    Map: () => new Map(),
    // Checkpoints
    CheckpointReader: async () => checkpoint.openCheckpoint(await prefix()),
    ByteSource: () => checkpoint.memorySource('walk', new Uint8Array(64)),
    RNNParamsSaveable: saveables,
    Saveable: saveables,
    Saver: async () => new saveable.Saver([await saveables()]),
    TensorSaveable: () =>
      new saveable.TensorSaveable(
        'v',
        () => tensor(2),
        () => {},
      ),
    // Training
    Dataset: () => train.Dataset.fromArray([1, 2, 3, 4]),
    DatasetIterator: () => train.Dataset.fromArray([1, 2, 3, 4]).iterate(),
    Optimizer: optimizer('Sgd'),
    Sgd: optimizer('Sgd'),
    Adam: optimizer('Adam'),
    Adagrad: optimizer('Adagrad'),
    RmsProp: optimizer('RmsProp', { decay: 0.9, epsilon: 1e-8 }),
    Schedule: () => train.constantRate(0.1),
    Vocabulary: () => train.Vocabulary.fromText?.('walk') ?? new train.Vocabulary([...'walk']),
    Trainable: () => trainable().variable,
    EventFile: async () => train.EventFile.open?.(scratch()),
    TrainingCheckpoints: () => new rnn.TrainingCheckpoints(open(), scratch()),
    // Cells
    RNNCell: cell,
    LSTMBlockCell: cell,
    LSTMBlockFusedCell: () => built(new cells.LSTMBlockFusedCell(2)),
    LSTMCell: () => built(new cells.LSTMCell(2)),
    BasicLSTMCell: () => built(new cells.BasicLSTMCell(2)),
    BasicRNNCell: () => built(new cells.BasicRNNCell(2)),
    GRUBlockCell: () => built(new cells.GRUBlockCell(2)),
    CudnnCompatibleGRUCell: () => built(new cells.CudnnCompatibleGRUCell(2)),
    CudnnCompatibleLSTMCell: () => built(new cells.CudnnCompatibleLSTMCell(2)),
    MultiRNNCell: () => built(new cells.MultiRNNCell([new cells.LSTMBlockCell(2), new cells.LSTMBlockCell(2)])),
    FusedRNNCell: () => built(new cells.LSTMBlockFusedCell(2)),
    FusedRNNCellAdaptor: () => new cells.FusedRNNCellAdaptor(cell()),
    TimeReversedFusedRNN: () => new cells.TimeReversedFusedRNN(built(new cells.LSTMBlockFusedCell(2))),
    // Errors
    BackendUnavailableError: () => new backend.BackendUnavailableError('walk', [], ''),
  }
}

export const scratchFolder = () => mkdtempSync(join(tmpdir(), 'cudnn-rnn-api-walk-'))
