import { type CpuBackend, openCpuBackend } from '@cudnn-rnn/cpu'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import * as tf from '@tensorflow/tfjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accelerate } from '../src/index.js'
import { EXAMPLE_MODELS, jenaWeather, train } from './example_models.js'
import { expectTraining } from './oracle.js'

let cpu: CpuBackend
beforeAll(() => {
  tf.env().set('PROD', true)
  cpu = openCpuBackend({ threads: 1 })
})
afterAll(() => cpu.dispose())

describe('models of tfjs-examples', () => {
  test.each(Object.entries(EXAMPLE_MODELS))(
    '%s has the outputs, gradients and losses of TensorFlow.js',
    async (_, make) => {
      const expected = await train(make)
      using acceleration = accelerate(tf, cpu)
      expectTraining(await train(make), expected)
      const computedBy = acceleration.report().map((report) => report.computedBy)
      expect(computedBy.length).toBeGreaterThan(0)
      expect(new Set(computedBy)).toEqual(new Set(['cpu']))
    },
  )

  test('jena-weather with recurrent dropout is trained by TensorFlow.js and predicts accelerated', async () => {
    using backend = openReferenceBackend()
    using acceleration = accelerate(tf, backend)
    const { model, x, y } = jenaWeather('gru', { dropout: 0.2, recurrentDropout: 0.2 })
    await model.trainOnBatch(x, y)
    expect(acceleration.report()).toMatchObject([{ computedBy: 'tensorflow.js', reason: 'it has recurrentDropout' }])
    model.predict(x)
    expect(acceleration.report()).toMatchObject([{ computedBy: 'reference', reason: undefined }])
  })
})
