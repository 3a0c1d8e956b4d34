import { openWasmBackend, type WasmBackend } from '@cudnn-rnn/wasm'
import * as tf from '@tensorflow/tfjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accelerate } from '../src/index.js'
import { EXAMPLE_MODELS, train } from './example_models.js'
import { evaluate, expectClose, expectTraining, randomTensor, randomWeights } from './oracle.js'

let wasm: WasmBackend
beforeAll(async () => {
  tf.env().set('PROD', true)
  await tf.setBackend('cpu')
  wasm = await openWasmBackend()
})
afterAll(() => wasm.dispose())

describe('accelerate in a page, on the wasm executor', () => {
  test.each(['lstm', 'gru', 'simpleRNN'] as const)('computes %s as TensorFlow.js', (name) => {
    const x = randomTensor([3, 5, 4], 50)
    const layer = tf.layers[name]({ units: 6, returnSequences: true } as never)
    const call = (input: tf.Tensor) => [layer.apply(input)].flat() as tf.Tensor[]
    call(x)
    randomWeights(layer, 1)
    const expected = evaluate(call, [x], layer)
    using acceleration = accelerate(tf, wasm)
    const actual = evaluate(call, [x], layer)
    expect(acceleration.report()).toMatchObject([{ computedBy: 'wasm', reason: undefined }])
    expectClose('output', actual.outputs, expected.outputs)
    expectClose('gradient', actual.gradients, expected.gradients)
  })

  test.each(Object.entries(EXAMPLE_MODELS))('trains %s to the losses of TensorFlow.js', async (_, make) => {
    const expected = await train(make)
    using acceleration = accelerate(tf, wasm)
    expectTraining(await train(make), expected)
    expect(new Set(acceleration.report().map(({ computedBy }) => computedBy))).toEqual(new Set(['wasm']))
  })
})
