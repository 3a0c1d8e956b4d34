import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import type { Backend, HostProducts } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import * as tf from '@tensorflow/tfjs'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { accelerate, type LayerReport } from '../src/index.js'
import { usesExecutors } from './compared_executors.js'
import { apply, BATCH, INPUTS, LAYERS, type LayerOptions, type MakeLayer, TIME, UNITS } from './compared_layers.js'
import { evaluate, randomTensor } from './oracle.js'

const emulator = openCudaEmulator(9)
const { backends } = usesExecutors(emulator)

describe('accelerate, around the layers', () => {
  const x = randomTensor([BATCH, TIME, INPUTS], 50)

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
