import * as tf from '@tensorflow/tfjs'
import { expect } from 'vitest'

/** Uniform numbers of a seed, in the shape given. */
export function randomTensor(shape: readonly number[], seed: number): tf.Tensor {
  return tf.randomUniform([...shape] as never, -1, 1, 'float32', seed)
}

/**
 * Fills the weights of a layer or a model with numbers of a seed.
 *
 * @param scale their bound: 1 reaches all regions of an activation.
 */
export function randomWeights(layer: tf.layers.Layer, seed: number, scale = 1): void {
  tf.tidy(() => {
    layer.setWeights(layer.getWeights().map((weight, index) => randomTensor(weight.shape, seed + index).mul(scale)))
  })
}

export interface Evaluation {
  readonly outputs: readonly Float32Array[]
  readonly gradients: readonly Float32Array[]
}

/**
 * The outputs of `call`, and the gradients of a weighted sum of them by `inputs` and by the variables of `layer`.
 *
 * @param call computes outputs from tensors like `inputs`.
 */
export function evaluate(
  call: (...inputs: tf.Tensor[]) => tf.Tensor[],
  inputs: readonly tf.Tensor[],
  layer: Pick<tf.layers.Layer, 'trainableWeights'>,
): Evaluation {
  return tf.tidy(() => {
    const given = inputs.map((input) => tf.variable(input))
    const variables = [...given, ...layer.trainableWeights.map((weight) => weight.read() as tf.Variable)]
    let outputs: Float32Array[] = []
    const loss = () => {
      const results = call(...given)
      outputs = results.map((output) => output.dataSync<'float32'>().slice())
      return results.reduce(
        (sum, output, index) => sum.add(output.mul(randomTensor(output.shape, 100 + index)).sum()),
        tf.scalar(0) as tf.Tensor,
      ) as tf.Scalar
    }
    const { grads } = tf.variableGrads(loss, variables)
    const gradients = variables.map(({ name }) => (grads[name] as tf.Tensor).dataSync<'float32'>().slice())
    for (const variable of given) variable.dispose()
    return { outputs, gradients }
  })
}

const TOLERANCE = 1e-5

/** |a - e| ≤ 1e-5·(1 + the largest |e|), as sums over time grow with their terms. */
export function expectClose(what: string, actual: readonly Float32Array[], expected: readonly Float32Array[]): void {
  expect(actual.map(({ length }) => length)).toEqual(expected.map(({ length }) => length))
  for (const [index, values] of expected.entries()) {
    const scale = 1 + values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    const worst = values.reduce(
      (most, value, k) => Math.max(most, Math.abs(value - (actual[index]?.[k] ?? Number.NaN))),
      0,
    )
    expect(worst / scale, `${what} ${index}`).toBeLessThanOrEqual(TOLERANCE)
  }
}

export interface Training {
  /** The model as it is made, by its weights. */
  readonly before: Evaluation
  /** The loss of each update. */
  readonly losses: readonly number[]
  readonly prediction: Float32Array
}

/**
 * Outputs and gradients before the first update agree within 1e-5. Then Adam and RMSprop divide by the square root of squared
 * gradients, so small ones amplify rounding.
 */
export function expectTraining(actual: Training, expected: Training): void {
  expectClose('output', actual.before.outputs, expected.before.outputs)
  expectClose('gradient', actual.before.gradients, expected.before.gradients)
  for (const [update, loss] of expected.losses.entries()) expect(actual.losses[update]).toBeCloseTo(loss, 4)
  for (const [k, value] of expected.prediction.entries()) expect(actual.prediction[k]).toBeCloseTo(value, 3)
  expect(actual.losses).toHaveLength(expected.losses.length)
  expect(expected.losses.at(-1)).not.toBe(expected.losses[0])
}
