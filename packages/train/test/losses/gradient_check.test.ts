import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  checkGradients,
  crossEntropy,
  entropyFromLogits,
  entropyGradient,
  softmax,
  softmaxGradient,
} from '../../src/index.js'

const w = { data: Float64Array.of(0.9, 0.5, 0.4, -0.6, -0.5), shape: [1, 5] }

/** Minus the entropy of softmax(w), written as the cross-entropy of softmax(w) with itself (Effective TensorFlow). */
const loss = ({ w: at }: Readonly<Record<string, typeof w>>) => -crossEntropy(at, softmax(at)).loss

it.each(['jacobian', 'directional'] as const)(
  'checkGradients (%s) accepts the gradient through logits and labels',
  async (method) => {
    const p = softmax(w)
    const { gradients } = crossEntropy(w, p)
    const throughLabels = softmaxGradient(p, gradients.labels!)
    const data = gradients.logits.data.map((g, k) => -(g + throughLabels.data[k])) as Float64Array
    const { maxError } = await checkGradients({
      inputs: { w },
      loss: loss as never,
      gradients: { w: { data, shape: [1, 5] } },
      method,
    })
    expect(maxError).toBeLessThan(1e-9)
  },
)

it('checkGradients finds the planted fault: a cross-entropy without gradient to its labels', async () => {
  const data = crossEntropy(w, softmax(w)).gradients.logits.data.map((g) => -g)
  const { maxError, worst } = await checkGradients({
    inputs: { w },
    loss: loss as never,
    gradients: { w: { data, shape: [1, 5] } },
  })
  expect(maxError).toBeGreaterThan(0.06)
  expect(worst).toMatchObject({ input: 'w', index: 0, error: maxError })
})

it('checkGradients in float32 stays near 1e-4, as tf.test.compute_gradient_error reports', async () => {
  const single = { data: Float32Array.from(w.data), shape: [1, 5] }
  const { maxError } = await checkGradients({
    inputs: { w: single },
    loss: ({ w: at }) => entropyFromLogits(at).data[0],
    gradients: { w: entropyGradient(single) },
    delta: 1e-3,
  })
  expect(maxError).toBeLessThan(5e-4)
})

it('checkGradients names the one element that is wrong', async () => {
  const gradient = entropyGradient(w)
  gradient.data[3] += 0.01
  const { worst } = await checkGradients({
    inputs: { w },
    loss: ({ w: at }) => entropyFromLogits(at).data[0],
    gradients: { w: gradient },
  })
  expect(worst.index).toBe(3)
  expect(worst.error).toBeCloseTo(0.01, 6)
})

it('checkGradients refuses a missing gradient and a loss that is not finite', async () => {
  await expect(checkGradients({ inputs: { w }, loss: () => 0, gradients: {} as { w: typeof w } })).rejects.toThrow(
    coded('ERR_SHAPE'),
  )
  await expect(checkGradients({ inputs: { w }, loss: () => Number.NaN, gradients: { w } })).rejects.toThrow(
    coded('ERR_NOT_FINITE'),
  )
})
