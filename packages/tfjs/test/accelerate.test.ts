import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend, HostProducts } from '@cudnn-rnn/ops'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import type { HostLstmOperands } from '@cudnn-rnn/ops/executor'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { openWasmBackend } from '@cudnn-rnn/wasm'
import * as tf from '@tensorflow/tfjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { ACTIVATIONS } from '../src/activation.js'
import { accelerate, type LayerReport } from '../src/index.js'
import { evaluate, expectClose, randomTensor, randomWeights } from './oracle.js'

const [BATCH, TIME, INPUTS, UNITS] = [3, 5, 4, 6] as const

type LayerOptions = Record<string, unknown>
type MakeLayer = (options: LayerOptions) => tf.RNN
const LAYERS: Readonly<Record<string, MakeLayer>> = {
  lstm: (options) => tf.layers.lstm({ units: UNITS, ...options } as never),
  'lstm with sigmoid': (options) =>
    tf.layers.lstm({ units: UNITS, recurrentActivation: 'sigmoid', ...options } as never),
  gru: (options) => tf.layers.gru({ units: UNITS, ...options } as never),
  simpleRNN: (options) => tf.layers.simpleRNN({ units: UNITS, ...options } as never),
  stack: (options) => {
    const cells = [
      tf.layers.gruCell({ units: 5 }),
      tf.layers.lstmCell({ units: 7, recurrentActivation: 'sigmoid' }),
      tf.layers.simpleRNNCell({ units: UNITS }),
      tf.layers.lstmCell({ units: UNITS }),
    ]
    return tf.layers.rnn({ cell: cells as never, ...options } as never) as tf.RNN
  },
}

const OPTIONS: readonly LayerOptions[] = [
  {},
  { returnSequences: true },
  { returnState: true },
  { returnSequences: true, returnState: true },
  { goBackwards: true, returnSequences: true },
  { goBackwards: true, returnState: true },
  { unroll: true },
  { useBias: false },
]

/** [B,T], rows of: holes, right padding, nothing at all. */
const HOLES = [
  [0, 1, 1, 0, 1],
  [1, 1, 0, 0, 0],
  [0, 0, 0, 0, 0],
]
const PADDING = [
  [1, 1, 1, 1, 1],
  [1, 1, 0, 0, 0],
  [0, 0, 0, 0, 0],
]

const emulator = openCudaEmulator(9)
const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
let backends: readonly Backend[]
beforeAll(async () => {
  tf.env().set('PROD', true)
  const cudnn =
    emulator.problem === undefined ? [await openCudnnBackend({ libraryDir: emulator.folder, cacheDir })] : []
  backends = [openReferenceBackend(), openCpuBackend({ threads: 1 }), await openWasmBackend(), ...cudnn]
})
afterAll(() => {
  for (const backend of backends) backend.dispose()
  rmSync(cacheDir, { recursive: true })
})

/** The layers that an executor computes: both directions', or the layer itself. */
function computedLayers(layer: tf.layers.Layer): readonly tf.layers.Layer[] {
  const { forwardLayer, backwardLayer } = layer as unknown as Record<string, tf.layers.Layer | undefined>
  return forwardLayer === undefined || backwardLayer === undefined ? [layer] : [forwardLayer, backwardLayer]
}

/** Compares a call with TensorFlow.js's own on every executor. */
function compare<Layer extends tf.layers.Layer>(
  make: () => Layer,
  call: (layer: Layer) => (...inputs: tf.Tensor[]) => tf.Tensor[],
  inputs: readonly tf.Tensor[],
  executors = backends,
): void {
  const layer = make()
  call(layer)(...inputs) // makes the weights
  randomWeights(layer, 1)
  const expected = evaluate(call(layer), inputs, layer)
  for (const backend of executors) {
    using acceleration = accelerate(tf, backend)
    const actual = evaluate(call(layer), inputs, layer)
    expect(acceleration.report()).toMatchObject(
      computedLayers(layer).map(({ name }) => ({ layer: name, computedBy: backend.name, reason: undefined })),
    )
    expectClose(`${backend.name}: output`, actual.outputs, expected.outputs)
    expectClose(`${backend.name}: gradient`, actual.gradients, expected.gradients)
  }
}

/** What `model.save` gives to its handler. */
async function artifactsOf(model: tf.LayersModel): Promise<tf.io.ModelArtifacts> {
  let saved: tf.io.ModelArtifacts | undefined
  await model.save(
    tf.io.withSaveHandler(async (artifacts) => {
      saved = artifacts
      return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: 'JSON' } }
    }),
  )
  return saved as tf.io.ModelArtifacts
}

function apply(layer: tf.layers.Layer, x: tf.Tensor, given: LayerOptions = {}): tf.Tensor[] {
  return [layer.apply(x, given)].flat() as tf.Tensor[]
}

/** Compares a layer that begins with states that it is given, and returns its last ones. */
function compareInitialStates(make: (options: LayerOptions) => tf.layers.Layer, x: tf.Tensor, states: tf.Tensor[]) {
  compare(
    () => make({ returnState: true }),
    (layer) =>
      (input, ...initialState) => {
        if (!layer.built) layer.apply(x)
        return [layer.call(input as tf.Tensor, { initialState })].flat()
      },
    [x, ...states],
  )
}

/** Compares two batches, the second of which begins with the states of the first. */
function compareKeptStates(
  make: (options: LayerOptions) => tf.layers.Layer & Pick<tf.RNN, 'resetStates'>,
  x: tf.Tensor,
) {
  compare(
    () => make({ stateful: true, batchInputShape: [BATCH, TIME, INPUTS] }),
    (layer) => (input) => {
      if (layer.built) layer.resetStates()
      return [...apply(layer, input as tf.Tensor), ...apply(layer, (input as tf.Tensor).mul(0.5), { training: true })]
    },
    [x],
  )
}

describe.each(Object.entries(LAYERS))('accelerate: %s computes as TensorFlow.js', (name, make) => {
  const x = randomTensor([BATCH, TIME, INPUTS], 50)

  test.each(OPTIONS)('with %o', (options) => {
    if (name === 'stack' && 'useBias' in options) return
    compare(
      () => make(options),
      (layer) => (input) => apply(layer, input as tf.Tensor),
      [x],
    )
  })

  test.each([
    ['holes', HOLES],
    ['padding', PADDING],
  ])('with a mask of %s', (_, mask) => {
    for (const options of [
      { returnSequences: true, returnState: true },
      { goBackwards: true, returnState: true },
    ]) {
      const given = { mask: tf.tensor2d(mask) }
      compare(
        () => make(options),
        (layer) => (input) => apply(layer, input as tf.Tensor, given),
        [x],
      )
    }
  })

  test('with initial states', () => {
    const sizes = name === 'stack' ? [UNITS, UNITS, UNITS, 7, 7, 5] : name.startsWith('lstm') ? [UNITS, UNITS] : [UNITS]
    const states = sizes.map((size, index) => randomTensor([BATCH, size], 60 + index))
    compareInitialStates(make, x, states)
  })

  test('with states kept from batch to batch', () => compareKeptStates(make, x))
})

const MERGE_MODES = ['concat', 'sum', 'ave', 'mul'] as const

describe.each(['lstm', 'gru', 'simpleRNN'] as const)(
  'accelerate: bidirectional %s computes as TensorFlow.js',
  (name) => {
    const x = randomTensor([BATCH, TIME, INPUTS], 50)
    const make = (options: LayerOptions, mergeMode: (typeof MERGE_MODES)[number] = 'concat') =>
      tf.layers.bidirectional({ layer: LAYERS[name]?.(options) as tf.RNN, mergeMode })

    test.each(MERGE_MODES)('merged by %s, with sequences and final states', (mergeMode) => {
      for (const options of [
        {},
        { returnSequences: true },
        { returnState: true },
        { returnSequences: true, returnState: true },
      ]) {
        compare(
          () => make(options, mergeMode),
          (layer) => (input) => apply(layer, input as tf.Tensor),
          [x],
        )
      }
    })

    test.each([
      ['holes', HOLES],
      ['padding', PADDING],
    ])('with a mask of %s', (_, mask) => {
      for (const options of [{ returnSequences: true }, { returnState: true }]) {
        compare(
          () => make(options),
          (layer) => (input) => apply(layer, input as tf.Tensor, { mask: tf.tensor2d(mask) }),
          [x],
        )
      }
    })

    test('with initial states of both directions', () => {
      const states = Array.from({ length: name === 'lstm' ? 4 : 2 }, (_, k) => randomTensor([BATCH, UNITS], 60 + k))
      compareInitialStates(make, x, states)
    })

    test('with states kept from batch to batch', () => compareKeptStates(make, x))
  },
)

describe('accelerate', () => {
  const x = randomTensor([BATCH, TIME, INPUTS], 50)

  test.each(Object.keys(ACTIVATIONS))('computes cells with the activation %s', (activation) => {
    for (const make of ['lstm', 'gru', 'simpleRNN'] as const) {
      compare(
        () => LAYERS[make]?.({ activation, recurrentActivation: activation, returnSequences: true }) as tf.RNN,
        (layer) => (input) => apply(layer, input as tf.Tensor),
        [x.mul(0.5)],
        backends.filter(({ name }) => activation !== 'softsign' || name !== 'cudnn'),
      )
    }
  })

  test('computes dropout of inputs with the masks of TensorFlow.js', () => {
    // One mask for all steps; the function stands for random numbers.
    const dropoutFunc = (ones: tf.Tensor, rate: number) =>
      tf.tidy(() => ones.mul(tf.cast(randomTensor(ones.shape, 9).greater(0), 'float32')).div(1 - rate))
    for (const make of ['lstm', 'gru', 'simpleRNN'] as const) {
      compare(
        () => LAYERS[make]?.({ dropout: 0.5, recurrentDropout: 0, dropoutFunc }) as tf.RNN,
        (layer) => (input) => apply(layer, input as tf.Tensor, { training: true }),
        [x],
      )
    }
  })

  test('leaves recurrent dropout out where nothing is trained, and names it where it is', () => {
    const layer = tf.layers.lstm({ units: UNITS, recurrentDropout: 0.5 })
    const passedOn: string[] = []
    using acceleration = accelerate(tf, backends[0] as Backend, {
      onPassedOn: ({ layer: name, reason }) => passedOn.push(`${name}: ${reason}`),
    })
    layer.apply(x)
    expect(acceleration.report()[0]?.computedBy).toBe('reference')
    layer.apply(x, { training: true })
    layer.apply(x)
    layer.apply(x, { training: true })
    expect(acceleration.report()[0]).toMatchObject({ computedBy: 'tensorflow.js', reason: 'it has recurrentDropout' })
    expect(passedOn).toEqual([`${layer.name}: it has recurrentDropout`])
  })

  test('passes other activations, cells and dropout inside rnn on to TensorFlow.js, by name', () => {
    using acceleration = accelerate(tf, backends[0] as Backend)
    const layers = [
      tf.layers.lstm({ units: 2, activation: 'selu' }),
      tf.layers.gru({ units: 2, recurrentActivation: 'softmax' }),
      tf.layers.rnn({ cell: tf.layers.lstmCell({ units: 2, dropout: 0.5 }) }) as tf.layers.Layer,
      tf.layers.convLstm2d({ filters: 2, kernelSize: 1, dataFormat: 'channelsLast' } as never),
    ]
    for (const layer of layers.slice(0, 3)) layer.apply(x)
    layers[3]?.apply(tf.zeros([1, 2, 3, 3, 1]))
    expect(acceleration.report().map(({ reason }) => reason)).toEqual([
      'its activation is selu',
      'its recurrentActivation is softmax',
      'it has dropout in a cell of rnn',
      'its input must be [B,T,I] and not empty',
    ])
  })

  test('trains a model to the losses of TensorFlow.js, and saves and loads it', async () => {
    const [inputs, targets] = [randomTensor([16, TIME, INPUTS], 70), randomTensor([16, 2], 71)]
    const train = async () => {
      const model = tf.sequential()
      const kernelInitializer = tf.initializers.glorotUniform({ seed: 3 })
      const options = { units: UNITS, kernelInitializer, recurrentInitializer: kernelInitializer }
      model.add(tf.layers.masking({ maskValue: 9, inputShape: [TIME, INPUTS] }))
      model.add(tf.layers.lstm({ ...options, returnSequences: true, name: 'a' }))
      model.add(tf.layers.gru({ ...options, name: 'b' }))
      model.add(tf.layers.dense({ units: 2, kernelInitializer, name: 'c' }))
      model.compile({ loss: 'meanSquaredError', optimizer: tf.train.adam(0.01) })
      const { history } = await model.fit(inputs, targets, { epochs: 4, batchSize: 8, shuffle: false, verbose: 0 })
      return { model, losses: history['loss'] as number[] }
    }
    const expected = await train()
    using acceleration = accelerate(tf, backends[1] as Backend)
    const actual = await train()
    expect(actual.losses).toHaveLength(4)
    for (const [epoch, loss] of actual.losses.entries()) expect(loss).toBeCloseTo(expected.losses[epoch] as number, 5)
    expect(actual.model.weights.map(({ originalName }) => originalName)).toEqual(
      expected.model.weights.map(({ originalName }) => originalName),
    )
    const loaded = await tf.loadLayersModel(tf.io.fromMemory(await artifactsOf(actual.model)))
    const predict = (model: tf.LayersModel) => (model.predict(inputs) as tf.Tensor).dataSync<'float32'>()
    expectClose('loaded', [predict(loaded)], [predict(actual.model)])
    expect(new Set(acceleration.report().map(({ computedBy }) => computedBy))).toEqual(new Set(['cpu']))
  })

  test.each(['before', 'after'])('computes models loaded from an IO handler %s it', async (order) => {
    const made = tf.sequential()
    const inner = tf.layers.gru({ units: 3, returnSequences: true }) as tf.RNN
    made.add(tf.layers.embedding({ inputDim: 9, outputDim: 4, inputLength: TIME, maskZero: true }))
    made.add(tf.layers.bidirectional({ layer: inner, mergeMode: 'ave' }))
    made.add(tf.layers.lstm({ units: UNITS, returnSequences: true }))
    made.add(tf.layers.simpleRNN({ units: 2 }))
    randomWeights(made as never, 1)
    const ids = tf.tensor2d([
      [1, 2, 3, 4, 5],
      [8, 7, 0, 0, 0],
    ])
    const predict = (model: tf.LayersModel) => (model.predict(ids) as tf.Tensor).dataSync<'float32'>()
    const expected = predict(made)
    const artifacts = await artifactsOf(made)
    for (const backend of backends) {
      const early = order === 'before' ? await tf.loadLayersModel(tf.io.fromMemory(artifacts)) : undefined
      using acceleration = accelerate(tf, backend)
      const model = early ?? (await tf.loadLayersModel(tf.io.fromMemory(artifacts)))
      expectClose(`${backend.name}: loaded`, [predict(model)], [expected])
      expect(acceleration.report().map(({ computedBy }) => computedBy)).toEqual(Array(4).fill(backend.name))
    }
  })

  test.each(['sigmoid', 'hardSigmoid'])(
    'computes LSTMs with %s gates by the kernel of the executor',
    (recurrentActivation) => {
      for (const backend of backends.filter(({ lstm }) => lstm !== undefined)) {
        let sequences = 0
        const counting = Object.create(backend, {
          lstm: {
            value: {
              forward(operands: HostLstmOperands) {
                sequences++
                expect(operands.gateActivation).toBe(recurrentActivation)
                return backend.lstm?.forward(operands)
              },
            },
          },
        }) as Backend
        using _ = accelerate(tf, counting)
        tf.layers.lstm({ units: UNITS, recurrentActivation } as never).apply(x)
        expect(sequences).toBe(1)
      }
    },
  )

  test('passes states of one row for the whole batch on to TensorFlow.js, which repeats them', () => {
    const layer = tf.layers.gru({ units: UNITS })
    const x = randomTensor([BATCH, TIME, INPUTS], 3)
    const given = { initialState: [randomTensor([1, UNITS], 4)] }
    const [expected] = apply(layer, x, given)
    using acceleration = accelerate(tf, backends[0])
    const [actual] = apply(layer, x, given)
    expect(actual.dataSync()).toEqual(expected.dataSync())
    expect(acceleration.report()).toMatchObject([{ reason: 'its initial states must be [B,H]' }])
  })

  test('reports layers of two models apart that have one name', () => {
    const passedOn: LayerReport[] = []
    using acceleration = accelerate(tf, backends[0] as Backend, { onPassedOn: (report) => passedOn.push(report) })
    const recurrent = (options: LayerOptions) => tf.layers.gru({ units: 2, name: 'recurrent', ...options } as never)
    const [first, second] = [recurrent({}), recurrent({ activation: 'selu' })]
    for (const layer of [first, second, first, second]) layer.apply(x)
    expect(acceleration.report()).toEqual([
      { layer: 'recurrent', className: 'GRU', computedBy: 'reference', reason: undefined },
      { layer: 'recurrent', className: 'GRU', computedBy: 'tensorflow.js', reason: 'its activation is selu' },
    ])
    expect(passedOn).toHaveLength(1)
  })

  test('throws what onPassedOn throws from the call of that layer, once', () => {
    const layer = tf.layers.gru({ units: 2, activation: 'selu' })
    using acceleration = accelerate(tf, backends[0] as Backend, {
      onPassedOn() {
        throw new Error('the log is full')
      },
    })
    expect(() => layer.apply(x)).toThrow('the log is full')
    expect((layer.apply(x) as tf.Tensor).shape).toEqual([BATCH, 2])
    expect(acceleration.report()).toHaveLength(1)
  })

  test('reports the last 1,000 layers', () => {
    using acceleration = accelerate(tf, backends[0] as Backend)
    const small = tf.ones([1, 1, 1])
    const names = Array.from({ length: 1002 }, () => {
      const layer = tf.layers.simpleRNN({ units: 1, inputShape: [1, 1] })
      layer.apply(small)
      return layer.name
    })
    expect(acceleration.report().map(({ layer }) => layer)).toEqual(names.slice(2))
  })

  test.each(['lstm', 'gru', 'simpleRNN'])('computes the gradient of %s by x only where it is requested', (name) => {
    const { products } = backends[0] as Backend
    let count = 0
    const addProduct: HostProducts['addProduct'] = (...operands) => {
      count += 1
      products?.addProduct(...operands)
    }
    using _ = accelerate(tf, { ...{ name: 'counting', dtype: 'float32' }, products: { addProduct } } as Backend)
    const layer = (LAYERS[name] as MakeLayer)({})
    layer.apply(x)
    const counted = (inputs: readonly tf.Tensor[]) => {
      count = 0
      evaluate((input = x) => apply(layer, input), inputs, layer)
      return count
    }
    expect(counted([x])).toBe(counted([]) + 1)
  })

  test('refuses gradients of gradients by a code, and computes them when it is disposed', () => {
    const acceleration = accelerate(tf, backends[0] as Backend)
    const layer = tf.layers.gru({ units: UNITS, recurrentActivation: 'sigmoid' })
    layer.apply(x)
    const squaredSlope = (input: tf.Tensor) =>
      tf
        .grad((inner) => apply(layer, inner)[0]?.sum() as tf.Tensor)(input)
        .square()
    expect(squaredSlope(x).shape).toEqual(x.shape)
    expect(() => tf.grad(squaredSlope)(x)).toThrow(coded('ERR_TFJS_SECOND_ORDER'))
    acceleration.dispose()
    expect(tf.grad(squaredSlope)(x).shape).toEqual(x.shape)
  })

  test('leaves no tensors behind', () => {
    for (const backend of backends) {
      using _ = accelerate(tf, backend)
      const layer = LAYERS['stack']?.({ returnState: true }) as tf.RNN
      layer.apply(x)
      const before = [tf.memory().numTensors, backend.stats()]
      evaluate((input) => apply(layer, input), [x], layer)
      expect([tf.memory().numTensors, backend.stats()]).toEqual(before)
    }
  })

  describe.skipIf(emulator.problem !== undefined)(`on cudnn (${emulator.problem ?? 'CUDA emulator'})`, () => {
    const cudnn = () => backends[3] as Backend

    test('computes the layers that the other tests compare', () => {
      expect(backends.map(({ name }) => name)).toEqual(['reference', 'cpu', 'wasm', 'cudnn'])
    })

    test('passes softsign on, for which it has no operation', () => {
      using acceleration = accelerate(tf, cudnn())
      tf.layers.lstm({ units: 2, activation: 'softsign' }).apply(x)
      expect(acceleration.report()).toMatchObject([
        { computedBy: 'tensorflow.js', reason: 'its activation is softsign' },
      ])
    })

    test('holds no memory of a sequence whose gradients are not requested', () => {
      using _ = accelerate(tf, cudnn())
      const before = cudnn().stats()
      const layer = tf.layers.gru({ units: 2 })
      // The forward is differentiated, by an operand that does not depend on the layer.
      tf.grad((scale) => (layer.apply(x) as tf.Tensor).sum().mul(0).add(scale.sum()))(tf.ones([2]))
      expect(cudnn().stats()).toEqual(before)
    })

    test('throws the error of the device from the call of the layer, and computes the next one', () => {
      using _ = accelerate(tf, cudnn())
      const layer = tf.layers.gru({ units: 2 })
      layer.apply(x)
      const before = cudnn().stats()
      if (emulator.problem === undefined) emulator.configure('fault.cublasGemmEx=13@2')
      expect(() => layer.apply(x)).toThrow(/CUBLAS/)
      if (emulator.problem === undefined) emulator.configure('reset')
      expect(cudnn().stats()).toEqual(before)
      expect((layer.apply(x) as tf.Tensor).dataSync().every(Number.isFinite)).toBe(true)
    })
  })

  test('is undone by dispose(), and refused twice', () => {
    const layer = tf.layers.gru({ units: 2 })
    const first = accelerate(tf, backends[0] as Backend)
    expect(() => accelerate(tf, backends[1] as Backend)).toThrow(coded('ERR_TFJS_ACCELERATED'))
    first.dispose()
    layer.apply(x)
    expect(first.report()).toEqual([])
    using second = accelerate(tf, backends[1] as Backend)
    first.dispose()
    layer.apply(x)
    expect(second.report()).toHaveLength(1)
  })

  test('refuses other modules, and executors that cannot compute now or in float32', () => {
    using float64 = openReferenceBackend({ dtype: 'float64' })
    expect(() => accelerate({} as never, float64)).toThrow(coded('ERR_TFJS_MODULE'))
    const queued = { name: 'queued', dtype: 'float32' } as Backend
    for (const backend of [float64, queued]) {
      expect(() => accelerate(tf, backend)).toThrow(coded('ERR_TFJS_BACKEND'))
    }
  })
})
