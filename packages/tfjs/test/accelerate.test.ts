import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import type { Backend } from '@cudnn-rnn/ops'
import type { HostLstmOperands } from '@cudnn-rnn/ops/executor'
import * as tf from '@tensorflow/tfjs'
import { describe, expect, test } from 'vitest'
import { ACTIVATIONS } from '../src/activation.js'
import { accelerate } from '../src/index.js'
import { usesExecutors } from './compared_executors.js'
import { apply, BATCH, INPUTS, LAYERS, TIME, UNITS } from './compared_layers.js'
import { expectClose, randomTensor, randomWeights } from './oracle.js'

const emulator = openCudaEmulator(9)
const { backends, compare } = usesExecutors(emulator)

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
})
