// Arguments that fit if the declared types alone do not say which do, by the callable's label.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @param api the modules of all packages.
 * @param subjects as createSubjects makes them.
 * @param fixtures the folder of the repository's fixtures.
 */
export function fittingArguments(api, subjects, fixtures) {
  const { canonical, saveable } = api
  const {
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
    cudnnOptions,
    startWorker,
    onnxGraph,
    reports,
    labeledTexts,
    timeSeries,
    forecasterSizes,
    writeFileSync,
  } = subjects.$()
  const wasmModule = () => readFileSync(join(fixtures, '../packages/wasm/dist/simd128.wasm'))
  const ids = (...shape) => ({ data: new Int32Array(shape.reduce((a, b) => a * b, 1)), shape })
  const zeros = (...shape) => subjects.Backend().zeros(shape)
  const textFile = (text) => {
    const path = join(scratch(), 'walk')
    writeFileSync(path, text)
    return path
  }
  const networkNamed = { name: 'walk', descriptor: descriptor(), canonical: canonicalOf() }
  const converted = (toFramework) => toFramework(descriptor(), canonicalOf())
  const table = () => ({ header: ['a', 'b'], rows: [['c', 'd']], best: 0 })
  const axis = () => ({ label: 'x', from: 0, to: 1 })
  const curve = () => ({
    label: 'a',
    color: 'red',
    points: [
      { x: 0, y: 1 },
      { x: 1, y: 2 },
    ],
  })
  const place = () => ({ path: 'walk', row: 1 })
  const examples = () => [{ input: tensor(2, 3), label: tensor(2, 2) }]
  const cell = subjects.LSTMBlockCell
  const modelInput = () => api.layers.input('walk', { features: 2 })
  const walkInput = modelInput()
  const record = () => ({ step: 1, optimizerStep: 1, position: null, best: null, skippedInARow: 0, extra: null })
  const detected = async () => {
    const tensors = await saveables().tensors('default')
    const shapes = [...tensors].map(([key, { shape }]) => ({ key, shape }))
    return { tensors, shapes, networks: saveable.detectNetworks(shapes) }
  }

  const table_ = {
    // Executors
    'ops: Backend.tensor': () => [tensor(2)],
    'ops: Backend.zeros': () => [[2], { layout: 'walk' }],
    'ops: DenseOps.linear': () => [tensor(1, 2), tensor(2, 3), tensor(3)],
    'ops: DenseOps.linearGradients': () => [tensor(1, 2), tensor(2, 3), tensor(1, 3)],
    'ops: DenseOps.embedding': () => [tensor(2, 3), ids(1)],
    'ops: DenseOps.embeddingGradient': () => [2, ids(1), tensor(1, 3)],
    'ops: DenseOps.softmaxCrossEntropy': () => [tensor(1, 2), ids(1)],
    ...Object.fromEntries(
      ['DenseOps', 'LayerOps'].flatMap((name) =>
        Object.entries({
          layerNorm: () => [tensor(1, 2), tensor(2), tensor(2), { epsilon: 1e-3 }],
          layerNormGradients: () => [tensor(1, 2), tensor(2), tensor(1, 2), { epsilon: 1e-3 }],
          maskSequence: () => [sequence(), ids(1)],
          reverseSequence: () => [sequence(), ids(1)],
          poolSequence: () => [sequence(), ids(1), { pooling: 'last' }],
          poolSequenceGradient: () => [sequence(), ids(1), tensor(1, 3), { pooling: 'last' }],
          attend: () => [sequence(), tensor(2, 1, 1), ids(1)],
          attendGradients: () => [sequence(), tensor(2, 1, 1), tensor(1, 3)],
          elementLoss: () => [tensor(1, 2), tensor(1, 2), 'squared_error', tensor(1)],
        }).map(([method, make]) => [`ops: ${name}.${method}`, make]),
      ),
    ),
    ...Object.fromEntries(
      Object.entries({
        max: () => [tensor(1, 2), { axes: [1] }],
        matmul: () => [tensor(1, 2), tensor(2, 1)],
        concat: () => [[tensor(1, 2), tensor(1, 2)]],
        stack: () => [[tensor(1, 2), tensor(1, 2)]],
        columns: () => [tensor(1, 2), 0, 1],
        reshape: () => [tensor(1, 2), [2, 1]],
        broadcast: () => [tensor(1, 2), [2, 2]],
        transpose: () => [tensor(1, 2), [1, 0]],
        slice: () => [tensor(1, 2), [0, 1], [1, 1]],
        pad: () => [tensor(1, 2), [0, 1], [1, 1]],
        oneHot: () => [ids(1), 2],
        uniform: () => [[2], { seed: 1, draw: 1 }],
        normal: () => [[2], { seed: 1, draw: 1 }],
      }).map(([method, make]) => [`ops: DenseOps.${method}`, make]),
    ),
    'ops: DenseOps.globalNorm': () => [[zeros(2)]],
    'ops: DenseOps.clipByGlobalNorm': () => [[zeros(2)], 1],
    'ops: DenseOps.clipByValue': () => [[zeros(2)], 1],
    'ops: DenseOps.assign': () => [zeros(2), tensor(2)],
    'ops: DenseOps.accumulate': () => [zeros(2), tensor(2), 1],
    'ops: DenseOps.update': () => ['adam', zeros(2), [zeros(2), zeros(2)], tensor(2), { learningRate: 0.1, step: 1 }],
    'ops: Rnn.canonicalToParams': () => [canonicalOf()],
    'ops: Rnn.paramsToCanonical': () => [opaque()],
    'ops: Rnn.forward': () => [
      {
        input: sequence(),
        inputH: null,
        inputC: tensor(1, 1, 2),
        params: opaque(),
        sequenceLengths: [2],
        training: true,
      },
    ],
    'ops: Rnn.backward': async () => [await subjects.Tape(), { output: tensor(2, 1, 2), outputC: tensor(1, 1, 2) }],
    'ops: Rnn.stepper': () => [opaque(), 1],
    'ops: Rnn.restoreDropoutState': async () => [await subjects.Rnn().dropoutState()],
    'ops: RnnStepper.stepSync': () => [tensor(1, 3), tensor(1, 2)],
    'ops: RnnStepper.stepRowsSync': () => [[0], tensor(1, 3), tensor(1, 2)],
    'ops: RnnStepper.state': () => [[0]],
    'ops: RnnStepper.reset': () => [[0]],
    'ops: RnnStepper.restore': () => [subjects.RnnStepper()?.state()],
    'ops: TrainingSteps.run': () => [async () => 1],
    'ops: TrainingSteps.whereFinite': () => [[zeros()], () => undefined],
    // Layouts
    'canonical: packCanonical': () => {
      const layout = canonical.flatLayout(descriptor())
      return [layout, canonicalOf(), new Float32Array(layout.size)]
    },
    'canonical: unpackCanonical': () => {
      const layout = canonical.flatLayout(descriptor())
      return [layout, new Float32Array(layout.size)]
    },
    'canonical: canonicalToFramework': () => [descriptor(), canonical.tensorflowLayout(descriptor()), canonicalOf()],
    'canonical: frameworkToCanonical': () => [
      descriptor(),
      canonical.tensorflowLayout(descriptor()),
      converted(canonical.canonicalToTensorflow),
    ],
    'canonical: pytorchToCanonical': () => [descriptor(), converted(canonical.canonicalToPytorch)],
    'canonical: flaxToCanonical': () => [descriptor(), converted(canonical.canonicalToFlax)],
    'canonical: canonicalToKeras': () => [descriptor(), canonicalOf(), {}],
    'canonical: kerasToCanonical': () => [descriptor(), converted(canonical.canonicalToKeras), {}],
    'canonical: onnxToCanonical': () => [descriptor(), converted(canonical.canonicalToOnnx)],
    'canonical: tensorflowToCanonical': () => [descriptor(), converted(canonical.canonicalToTensorflow)],
    // Cells
    'cells: CellTape.gradients': () => [{ output: tensor(1, 2) }],
    'cells: dynamicRnn': () => [cell(), tensor(1, 2, 3), { sequenceLength: [2] }],
    'cells: staticRnn': () => [cell(), [tensor(1, 3), tensor(1, 3)], {}],
    'cells: stackBidirectionalDynamicRnn': () => [[cell()], [cell()], tensor(1, 2, 3), {}],
    'cells: new MultiRNNCell': () => [[cell(), cell()], {}],
    'cells: new Conv1DLSTMCell': () => [conv(1)],
    'cells: new Conv2DLSTMCell': () => [conv(2)],
    'cells: new Conv3DLSTMCell': () => [conv(3)],
    'cells: new ConvLSTMCell': () => [{ ...conv(1), convNdims: 1 }],
    'cells: CheckpointVariable.assign': () => [tensor(...subjects.CheckpointVariable().value.shape)],
    // Models
    ...Object.fromEntries(
      ['CudnnGRU', 'CudnnLSTM', 'CudnnRNNRelu', 'CudnnRNNTanh', 'RecurrentModel'].flatMap((name) => {
        const model = () => subjects[name]()
        const params = () => model().createParams()
        const hasCell = name === 'CudnnLSTM'
        const call = async () => [
          sequence(),
          null,
          ...(hasCell ? [tensor(1, 1, 2)] : []),
          params(),
          { isTraining: true },
        ]
        return Object.entries({
          call,
          run: () => [params(), sequence(), { lengths: [2] }],
          gradients: async () => [(await model().call(...(await call()))).tape, { output: tensor(2, 1, 2) }],
          createParams: () => [{ seed: 1 }],
          paramsToCanonical: () => [params()],
          canonicalToParams: async () => {
            const { weights, biases } = await model().paramsToCanonical(params())
            return [weights, biases]
          },
          stream: () => [params(), { batch: 1 }],
          streamPool: () => [params(), { maxStreams: 4 }],
          shareParams: () => [params()],
          sharedParams: async () => [await model().shareParams(params())],
          restoreDropoutState: async () => [await model().dropoutState()],
        }).map(([method, make]) => [`models: ${name}.${method}`, make])
      }),
    ),
    ...Object.fromEntries(
      ['CudnnGRU', 'CudnnLSTM', 'CudnnRNNRelu', 'CudnnRNNTanh'].map((name) => [
        `models: new ${name}`,
        () => [subjects.Backend(), { numLayers: 1, numUnits: 2, inputSize: 3 }],
      ]),
    ),
    'models: new Variable': () => [subjects.Backend(), zeros(2), 'v'],
    'models: Variable.assign': () => [subjects.Variable().value],
    'models: Stream.step': () => [tensor(1, 3)],
    'models: Stream.stepSync': () => [tensor(1, 3)],
    'models: Stream.stepRows': () => [[0], tensor(1, 3)],
    'models: Stream.stepRowsSync': () => [[0], tensor(1, 3)],
    'models: Stream.state': () => [[0]],
    'models: PooledStream.step': () => [tensor(3)],
    'models: PooledStream.restore': async () => [await subjects.Stream().state()],
    'models: StreamPool.open': async () => [await subjects.Stream().state()],
    'models: openWorkerPool': () => [{ workers: 1, start: startWorker, onWorkerLost: () => {} }],
    'models: serveStreams': () => [{ on: () => {}, postMessage: () => {} }, subjects.StreamPool()],
    'models: WorkerStream.step': () => [tensor(3)],
    'models: WorkerStream.restore': async () => [await (await subjects.WorkerStream()).state()],
    'models: Stream.reset': () => [[0]],
    'models: Stream.restore': async () => [await subjects.Stream().state()],
    // Checkpoints
    'checkpoint: ByteSource.read': () => [0, 8],
    ...Object.fromEntries(
      ['shape', 'dtype', 'byteLength', 'read'].map((name) => [`checkpoint: CheckpointReader.${name}`, () => ['v']]),
    ),
    'checkpoint: blobSource': () => ['walk', new Blob(['walk'])],
    'checkpoint: responseSource': () => ['walk', new Response('walk')],
    'checkpoint: openCheckpoint': async () => [await prefix(), {}],
    'checkpoint: openCheckpointFrom': async () => [await prefix(), api.checkpoint.openFileSource, {}],
    'checkpoint: writeCheckpoint': () => [join(scratch(), 'model'), [['v', tensor(2)]], {}],
    'checkpoint: writeCheckpointState': () => [
      scratch(),
      {
        modelCheckpointPath: 'a',
        allModelCheckpointPaths: ['a'],
        allModelCheckpointTimestamps: [1],
        lastPreservedTimestamp: 1,
      },
    ],
    'checkpoint: FileLock.acquire': () => [join(scratch(), 'lock'), {}],
    'saveable: RNNParamsSaveable.restore': () => {
      const { weights, biases } = canonicalOf()
      return [[...weights, ...biases], null]
    },
    'saveable: new Saver': () => [[saveables()], {}],
    'saveable: Saver.save': () => [join(scratch(), 'model'), { globalStep: 1 }],
    'saveable: Saver.restore': async () => [await prefix()],
    'saveable: TensorSaveable.prepare': () => [new Map([['v', tensor(2)]])],
    'saveable: TensorSaveable.of': () => [subjects.Variable()],
    'saveable: ParamVariable.assign': () => [subjects.Variable().value],
    ...Object.fromEntries(
      [
        'RNNParamsSaveable',
        'Saveable',
        'CudnnGRUSaveable',
        'CudnnLSTMSaveable',
        'CudnnRNNReluSaveable',
        'CudnnRNNTanhSaveable',
      ].map((name) => [
        `saveable: ${name}.prepare`,
        async () => [await subjects[name]().tensors('default'), 'default'],
      ]),
    ),
    ...Object.fromEntries(
      ['GRU', 'LSTM', 'Relu', 'Tanh'].flatMap((kind) => {
        const converter = () => subjects[`CudnnParamsFormatConverter${kind}`]()
        const own = () => canonicalOf(converter().descriptor)
        const label = `saveable: CudnnParamsFormatConverter${kind}`
        return [
          [`${label}.canonicalToTfCells`, () => [own()]],
          [`${label}.tfCellsToCanonical`, () => [converter().canonicalToTfCells(own())]],
        ]
      }),
    ),
    ...Object.fromEntries(
      ['CudnnGRU', 'CudnnLSTM', 'CudnnRNNRelu', 'CudnnRNNTanh'].map((name) => [
        `saveable: new ${name}Saveable`,
        () => {
          const model = subjects[name]()
          return [model.paramsToCanonical, model.canonicalToParams, [model.createParams()]]
        },
      ]),
    ),
    'saveable: convertCheckpoint': async () => [await prefix(), join(scratch(), 'converted'), { to: 'tf-1.3' }],
    'saveable: detectNetworks': async () => [(await detected()).shapes],
    'saveable: detectedToCanonical': async () => {
      const { tensors, networks } = await detected()
      return [networks[0], networks[0].structures[0], tensors]
    },
    // Executors
    'wasm: hasInstructionSet': () => ['simd128'],
    'wasm/slim: openWasmBackend': () => [{ module: wasmModule(), threads: 1 }],
    // Weights of other frameworks
    'interop: encodeKerasArchive': () => [{ class_name: 'Sequential' }, new Map([['layers/dense/vars/0', tensor(2)]])],
    'interop: encodeOnnxModel': () => [
      {
        name: 'walk',
        nodes: [{ opType: 'Softmax', name: 'n', inputs: ['x'], outputs: ['y'], attributes: { axis: -1, mode: 'm' } }],
        initializers: { a: tensor(2), b: [1] },
        inputs: [{ name: 'x', elementType: 'float32', shape: ['T', 2] }],
        outputs: [{ name: 'y', elementType: 'float32', shape: ['T', 2] }],
      },
      8,
      17,
    ],
    'interop: exportWeights': () => [[networkNamed], { format: 'safetensors' }],
    'interop: importWeights': async () => [await exported(), {}],
    'interop: ImportedWeights.network': () => ['walk'],
    'interop: OpenWeightFile.tensor': () => ['walk.weight_ih_l0'],
    'interop: openWeightFile': async () => [await exported(), 'safetensors'],
    'interop: stackNetworks': async () => [[await subjects.ImportedNetwork()]],
    // Training
    'distributed: openCommunicator': () => ['none', {}],
    'distributed: Communicator.abort': () => ['walk', 1],
    'distributed: Communicator.allReduce': () => [Float32Array.of(1), { op: 'sum' }],
    'distributed: Communicator.broadcast': () => [Uint8Array.of(1), 0],
    'distributed: Communicator.allGather': () => [Uint8Array.of(1)],
    'train: tensor': () => [
      [1, 2],
      [2, 1],
    ],
    'train: arrowDataset': () => [join(fixtures, 'tables/table.arrow')],
    'train: parquetDataset': () => [join(fixtures, 'tables/table_none.parquet'), {}],
    'train: csvDataset': () => [textFile('a,b\n1,2\n'), {}],
    'train: jsonLinesDataset': () => [textFile('{"a":1}\n')],
    'train: textDataset': () => [textFile('a\nb\n')],
    'train: classId': () => [{ a: '1' }, 'a', 2, place()],
    'train: finiteNumber': () => [{ a: '1' }, 'a', place()],
    'train: Dataset.from': () => [() => [1, 2]],
    'train: Dataset.shard': () => [{ rank: 0, size: 1 }, (batch) => batch],
    'train: Dataset.paddedBatch': () => [2, () => tensor(2, 1), 0],
    'train: Dataset.bucketByLength': () => [{ length: () => 1, batchSize: 2 }],
    'train: new Dataset': () => [subjects.Source()],
    'train: Source.open': () => [undefined, 0],
    'train: new Vocabulary': () => [['a', 'b'], { unknown: 'a' }],
    'train: Vocabulary.of': () => ['walk'],
    'train: Vocabulary.encode': () => ['walk'],
    'train: Vocabulary.decode': () => [[0, 1], ''],
    'train: truncatedWindows': () => [Int32Array.of(1, 2, 3, 4, 5), { time: 2, batch: 1 }],
    'train: padSequences': () => [[tensor(2, 1), tensor(1, 1)], 0],
    'train: piecewiseRate': () => [[1], [0.1, 0.01]],
    'train: sparseCrossEntropy': () => [tensor(1, 2), ids(1), {}],
    'train: crossEntropy': () => [tensor(1, 2), tensor(1, 2), {}],
    'train: meanSquaredError': () => [tensor(2), tensor(2), tensor(2)],
    'train: gaussianKl': () => [{ mean: tensor(1, 2), logVariance: tensor(1, 2) }],
    'train: softmaxGradient': () => [tensor(1, 2), tensor(1, 2), -1],
    'train: checkGradients': () => [
      { inputs: { a: tensor(1) }, gradients: { a: tensor(1) }, loss: () => 0, delta: 1e-2 },
    ],
    'train: sampleToken': () => [Float32Array.of(0, 1), subjects.Philox(), { temperature: 1 }],
    'train: generate': () => [() => Float32Array.of(0, 1), { prompt: [0], length: 2, seed: 1 }],
    'train: beamSearch': () => [
      {
        ...{ initialState: null, batch: 1, beamWidth: 1, length: 2, beginId: 0, endId: 1 },
        update: async () => ({ state: null, logits: tensor(1, 2) }),
        gather: (state) => state,
      },
    ],
    'train: gatherStateRows': () => [subjects.Backend(), zeros(1, 2, 2), Int32Array.of(0)],
    'train: gateWeights': () => [subjects.CudnnLSTM(), subjects.Variable().value],
    'train: weightDecayMask': () => [subjects.Backend(), subjects.CudnnLSTM()],
    'train: cosineRate': () => [{ peak: 0.1, steps: 2 }],
    'train: histogramOf': () => [Float32Array.of(1, 2)],
    'train: EventFile.histogram': () => ['walk', Float32Array.of(1, 2), 1],
    'train: EventFile.create': () => [scratch(), { afterStep: 1 }],
    'train: MetricsFile.open': () => [join(scratch(), 'metrics.jsonl'), 0],
    'train: readMetrics': () => [join(scratch(), 'metrics.jsonl')],
    'train: TrainingSaver.save': () => ['latest', [subjects.Trainable()], record()],
    'train: TrainingSaver.restore': () => [[subjects.Trainable()]],
    ...Object.fromEntries(
      ['Sgd', 'Adam', 'Adagrad', 'RmsProp', 'Optimizer'].flatMap((name) => [
        [`train: new ${name}`, () => [[subjects.Trainable()], { weightDecay: 0.1 }]],
        [`train: ${name}.apply`, () => [[tensor(2)], 0.1]],
      ]),
    ),
    'train: fit': () => [
      {
        ...{ data: subjects.Dataset(), optimizer: subjects.Sgd(), maxSteps: 1 },
        batchGradients: async () => ({ loss: 1, gradients: [zeros(2)] }),
        learningRate: () => 0.1,
      },
    ],
    // Graphs
    'graphs: openGraph': async () => [onnxGraph(), { ort: await import('onnxruntime-node') }],
    'rnn: openModel': async () => [onnxGraph(), { ort: await import('onnxruntime-node') }],
    'graphs: Graph.run': () => [{ x: tensor(1, 3) }],
    'graphs: Graph.sequence': () => [{ x: tensor(2, 1, 3) }, { chunk: 1 }],
    'graphs: Graph.replace': async () => {
      const [{ name, canonical }] = (await api.interop.importWeights(onnxGraph())).networks
      return [name, canonical]
    },
    'graphs: GraphStream.run': () => [{ x: tensor(1, 3) }],
    'graphs: GraphStream.restore': () => [{ 'gru/initial_h': tensor(1, 1, 2) }],
    'graphs: GraphStreamPool.open': () => [{ 'gru/initial_h': tensor(1, 1, 2) }],
    'graphs: PooledGraphStream.run': () => [{ x: tensor(1, 3) }],
    'graphs: PooledGraphStream.restore': () => [{ 'gru/initial_h': tensor(1, 1, 2) }],
    // TensorFlow.js
    'tfjs: accelerate': async () => [await import('@tensorflow/tfjs'), subjects.Backend()],
    'tfjs: ctcLoss': async () => {
      const tf = await import('@tensorflow/tfjs')
      return [tf, tf.zeros([1, 2, 3]), [[0]], {}]
    },
    'checkpoint: new MemoryStore': () => [[['walk', Uint8Array.of(1)]], 'walk'],
    // CTC
    'ops: DenseOps.ctcLoss': () => [tensor(2, 1, 3), ids(1, 1), { logitLengths: [2], labelLengths: [1], blank: 2 }],
    'train/ctc: ctcLoss': () => [subjects.Backend(), { logits: tensor(2, 1, 3), labels: [[0]] }],
    'train/ctc: NGramModel.train': () => [[['a', 'b']], { order: 2 }],
    'train/ctc: NGramModel.fromJSON': () => [subjects.NGramModel().toJSON()],
    'train/ctc: NGramModel.logProbability': () => [['a'], 'b'],
    // Whole models
    ...Object.fromEntries(
      [
        ['Layer', 2],
        ['RecurrentLayer', 3],
        ['LayersModel', 3],
      ].flatMap(([name, size]) => {
        const layer = () => subjects[name]()
        const call = () => [tensor(2, 1, size), { isTraining: true, sequenceLengths: [2] }]
        return Object.entries({
          call,
          gradients: async () => [(await layer().call(...call())).tape, tensor(2, 1, 2)],
          restoreRandomState: async () => [await layer().randomState()],
          useRandomStream: () => [1],
        }).map(([method, make]) => [`layers: ${name}.${method}`, make])
      }),
    ),
    'layers: layerWeights': () => [
      'dense',
      { tensors: [{ name: 'fc.weight', shape: [2, 3], dtype: 'F32', read: async () => new Float32Array(6) }] },
      'fc',
    ],
    'layers: transpose': () => [tensor(2, 3), [1, 0]],
    'layers: LayersModel.fit': () => [
      examples(),
      // Ends a run that would take a huge number of epochs.
      { loss: 'mean_squared_error', batchSize: 1, epochs: 1, signal: AbortSignal.abort() },
    ],
    'layers: LayersModel.evaluate': () => [examples(), { loss: 'mean_squared_error', batchSize: 1 }],
    'layers: LayersModel.predict': () => [[tensor(2, 3)], { batchSize: 1 }],
    'layers: LayersModel.decode': () => [[tensor(2, 3)], { loss: 'ctc', batchSize: 1 }],
    'layers: LayersModel.batchInputs': () => [[tensor(2, 3)]],
    'layers: LayersModel.stream': () => [{ batch: 1 }],
    'layers: LayersModel.save': () => [join(scratch(), 'model')],
    'layers: ModelStream.step': () => [tensor(1, 3)],
    'layers: ModelStream.reset': () => [[0]],
    'layers: ModelStream.restore': async () => [await subjects.ModelStream().state()],
    'layers: sequential': () => [subjects.Backend(), [subjects.LayerDefinition()], { seed: 1, inputSize: 3 }],
    'layers: input': () => ['walk', { features: 2 }],
    'layers: apply': () => [subjects.LayerDefinition(), modelInput()],
    'layers: merge': () => ['add', [modelInput(), modelInput()], { name: 'walk' }],
    'layers: functional': () => [subjects.Backend(), [walkInput], { walk: walkInput }, { seed: 1 }],
    'layers: loadModel': async () => {
      const path = join(scratch(), 'model')
      await subjects.LayersModel().save(path)
      return [subjects.Backend(), path, {}]
    },
    'layers: importKeras': () => [subjects.Backend(), join(fixtures, 'layers/keras_numbers.keras')],
    'layers: lossOf': () => [subjects.Backend(), 'mean_squared_error', zeros(1, 2), tensor(1, 2), tensor(1)],
    'layers: new LayerBuild': () => [subjects.Backend(), 1],
    'layers: LayerBuild.nameOf': () => ['walk', 'base'],
    'layers: concat': () => [[[subjects.LayerDefinition()]], {}],
    'layers: new TrainingCheckpoints': () => [subjects.Backend(), scratch(), { maxToKeep: 2 }],
    'layers: TrainingCheckpoints.save': () => ['latest', [subjects.Trainable()], record()],
    'layers: TrainingCheckpoints.restore': () => [[subjects.Trainable()], 'latest'],
    // Tasks
    'layers/tasks: createTextClassifier': () => [subjects.Backend(), labeledTexts(), { numUnits: 2, embeddingSize: 2 }],
    'layers/tasks: loadTextClassifier': async () => {
      const path = join(scratch(), 'classifier')
      await subjects.TextClassifier().save(path)
      return [subjects.Backend(), path]
    },
    'layers/tasks: TextClassifier.examples': () => [labeledTexts()],
    'layers/tasks: TextClassifier.classify': () => [['walk']],
    'layers/tasks: TextClassifier.save': () => [join(scratch(), 'classifier')],
    'layers/tasks: new ForecasterTraining': () => [subjects.Backend(), [timeSeries()], forecasterSizes()],
    'layers/tasks: ForecasterTraining.fit': () => [{ saveEvery: 1, signal: AbortSignal.abort() }],
    'layers/tasks: trainForecaster': () => [subjects.Backend(), [timeSeries()], forecasterSizes()],
    'layers/tasks: loadForecaster': async () => {
      const path = join(scratch(), 'forecaster')
      await (await subjects.Forecaster()).save(path)
      return [subjects.Backend(), path]
    },
    'layers/tasks: Forecaster.forecast': () => [timeSeries()],
    'layers/tasks: Forecaster.backtest': () => [timeSeries(), [12]],
    'layers/tasks: Forecaster.save': () => [join(scratch(), 'forecaster')],
    'layers/tasks: fillMissing': () => [[1, Number.NaN], 1],
    'layers/tasks: seasonOf': () => [[new Date(0), new Date(3600_000)]],
    'layers/tasks: usualShape': () => [40, 1, { horizon: 2 }],
    // The voice server
    'voice-server: new VoiceServer': () => [{ pool: subjects.SpeechPool(), maxRate: 2, pingMs: 1000 }],
    'voice-server: VoiceServer.listen': () => [0, '127.0.0.1'],
    'voice-server: VoiceServer.close': () => [0],
    // The facade
    'rnn: loadNetwork': async () => [subjects.Backend(), await exported(), {}],
    'rnn: modelFromNetwork': async () => [subjects.Backend(), await subjects.ImportedNetwork()],
    'rnn: ModelFromNetwork.run': () => [sequence(), { sequenceLengths: [2] }],
    'rnn: CellFromNetwork.run': () => [sequence(), { sequenceLengths: [2] }],
    'cudnn: openCudnnBackend': () => [cudnnOptions()],
    'cudnn: CudnnBackend.tensor': () => [tensor(2)],
    'rnn: openBackend': () => ['reference', {}],
    'rnn: inspectBackends': () => [{ threads: 1 }],
    // Reports
    'rnn/report: tableText': () => [table()],
    'rnn/report: tableHtml': () => [table()],
    'rnn/report: settingsHtml': () => [[['a', 'b']]],
    'rnn/report: lineChart': () => [{ x: 'x', y: 'y', series: [curve()], rules: [{ y: 1, text: 'r' }] }],
    'rnn/report: imageChart': () => [
      { title: 't', source: 'data:,', x: axis(), y: axis(), key: { ...axis(), colors: ['red'] } },
    ],
    'rnn/report: gateHistograms': () => [[{ name: 'layer_0/forward/input/input', values: Float32Array.of(1, 2) }]],
    'rnn/report: trainingSections': () => [{ reports: reports(), lossLabel: 'loss', itemsPerStep: 1, itemName: 'x' }],
    'rnn/report: TerminalProgress.update': () => [1, ['a'], true],
    'rnn/report: new TerminalProgress': () => [{ write: () => true }, { total: 3 }],
    'rnn/report: htmlPage': () => [{ title: 't', resultHtml: 'r', sections: [{ heading: 'h', html: 'p' }] }],
  }

  // What every cell has.
  const steps = ['BasicLSTMCell', 'BasicRNNCell', 'CudnnCompatibleGRUCell', 'CudnnCompatibleLSTMCell', 'GRUBlockCell']
  const convolutions = ['Conv1DLSTMCell', 'Conv2DLSTMCell', 'Conv3DLSTMCell', 'ConvLSTMCell']
  const rare = ['GLSTMCell', 'LayerNormBasicLSTMCell', 'NASCell', 'PhasedLSTMCell', 'UGRNNCell']
  const wrappers = ['AttentionCellWrapper', 'DropoutWrapper', 'HighwayWrapper', 'ResidualWrapper']
  const plain = [...steps, 'LSTMBlockCell', 'LSTMCell', 'MultiRNNCell', 'RNNCell']
  const cells = [...plain, ...convolutions, ...rare, ...wrappers]
  const sequences = [
    'FusedRNNCell',
    'FusedRNNCellAdaptor',
    'LSTMBlockFusedCell',
    'SequenceRunner',
    'TimeReversedFusedRNN',
  ]
  for (const name of [...cells, ...sequences]) {
    table_[`cells: ${name}.build`] = () => [3, { seed: 1 }]
    const values = () => Object.fromEntries(subjects[name]().variables ?? [])
    table_[`cells: ${name}.setVariables`] = () => [values()]
    table_[`cells: ${name}.prepareVariables`] = () => [values()]
  }
  for (const name of cells) {
    table_[`cells: ${name}.call`] = () => [tensor(1, 3), subjects[name]().zeroState(1), { training: true }]
    table_[`cells: ${name}.restoreRandomState`] = () => [subjects[name]().randomState()]
  }
  for (const name of sequences) table_[`cells: ${name}.call`] = () => [sequence(), { sequenceLength: [2] }]
  return table_
}
