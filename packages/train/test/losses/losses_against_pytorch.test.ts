import { expectAllclose } from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  crossEntropy,
  entropyFromLogits,
  entropyGradient,
  gaussianKl,
  meanSquaredError,
  softmax,
  sparseCrossEntropy,
} from '../../src/index.js'
import { filled, pytorch } from '../fixture.js'

const shape = [4, 5]
const made = (scale: number, frequency: number, phase: number) => ({ data: filled(20, scale, frequency, phase), shape })
const logits = made(3, 0.37, 0.1)
const ids = { data: Int32Array.of(3, 0, 4, 1), shape: [4] }
const TOLERANCE = 1e-12

function expectLoss(name: string, loss: number, gradients: Record<string, { data: Float64Array | Float32Array }>) {
  const expected = pytorch.losses[name]
  expectAllclose(`${name}: loss`, [loss], [expected.loss], TOLERANCE)
  expect(Object.keys(gradients).sort()).toEqual(Object.keys(expected.gradients).sort())
  for (const [input, { data }] of Object.entries(gradients)) {
    expectAllclose(`${name}: ∂${input}`, data, expected.gradients[input], TOLERANCE)
  }
}

it.each([0, 0.1])('sparseCrossEntropy with label smoothing %d equals PyTorch', (labelSmoothing) => {
  const { loss, gradients } = sparseCrossEntropy(logits, ids, { labelSmoothing })
  expectLoss(`sparse ${labelSmoothing.toFixed(1)}`, loss, { logits: gradients.logits })
})

it.each([0, 0.1])('crossEntropy with label smoothing %d equals PyTorch, also in its labels', (labelSmoothing) => {
  const { loss, gradients } = crossEntropy(logits, softmax(made(2, 0.61, 0.3)), { labelSmoothing })
  expectLoss(`dense ${labelSmoothing.toFixed(1)}`, loss, { logits: gradients.logits, labels: gradients.labels! })
})

it('sparseCrossEntropy leaves masked rows out of loss, mean and gradient', () => {
  const weights = { data: Float64Array.of(1, 0, 1, 1), shape: [4] }
  const { loss, gradients } = sparseCrossEntropy(logits, ids, { weights })
  expectLoss('masked', loss, { logits: gradients.logits })
  const poisoned = { data: logits.data.slice().fill(Number.NaN, 5, 10), shape }
  expect(sparseCrossEntropy(poisoned, ids, { weights }).loss).toBe(loss)
})

it('meanSquaredError equals PyTorch', () => {
  const { loss, gradients } = meanSquaredError(made(1, 0.37, 0.1), made(1, 0.61, 0.3))
  expectLoss('mean squared error', loss, gradients)
})

it('entropyFromLogits and entropyGradient equal PyTorch', () => {
  const loss = Array.from(entropyFromLogits(logits).data).reduce((sum, value) => sum + value, 0)
  expectLoss('entropy', loss, { logits: entropyGradient(logits) })
})

it('gaussianKl equals PyTorch, in all four inputs', () => {
  const { divergence, gradients } = gaussianKl(
    { mean: made(1, 0.37, 0.1), logVariance: made(0.8, 0.53, 0.2) },
    { mean: made(1, 0.61, 0.3), logVariance: made(0.8, 0.67, 0.35) },
  )
  const loss = Array.from(divergence.data).reduce((sum, value) => sum + value, 0)
  expectLoss('gaussian kl', loss, {
    qMean: gradients.q.mean,
    qLogVariance: gradients.q.logVariance,
    pMean: gradients.p.mean,
    pLogVariance: gradients.p.logVariance,
  })
})

it('gaussianKl of the standard normal from itself is 0', () => {
  const zeros = { data: new Float64Array(3), shape: [1, 3] }
  expect([...gaussianKl({ mean: zeros, logVariance: zeros }).divergence.data]).toEqual([0])
})

it('crossEntropy of labels [.5, .5] and logits [1000, 0] is 500 with gradient [.5, -.5] (Effective TensorFlow)', () => {
  const { loss, gradients } = crossEntropy(
    { data: Float32Array.of(1000, 0), shape: [1, 2] },
    { data: Float32Array.of(0.5, 0.5), shape: [1, 2] },
  )
  expect(loss).toBe(500)
  expect([...gradients.logits.data]).toEqual([0.5, -0.5])
})

it('sparseCrossEntropy refuses a label outside the classes and a smoothing beyond 1', () => {
  const wrong = { data: Int32Array.of(0, 5, 0, 0), shape: [4] }
  expect(() => sparseCrossEntropy(logits, wrong)).toThrow(coded('ERR_ID_OUT_OF_RANGE', { index: 1, value: 5 }))
  expect(() => sparseCrossEntropy(logits, ids, { labelSmoothing: 2 })).toThrow(coded('ERR_INVALID_OPTION'))
})
