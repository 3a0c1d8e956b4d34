import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import {
  activation,
  apply,
  cudnnGRU,
  dense,
  functional,
  input,
  type LayerDefinition,
  lastStep,
  sequential,
  timeDistributed,
} from '../../src/index.js'

const steps = (k: number) => Array.from({ length: 4 }, (_, t) => [Math.sin(k + t), Math.cos(2 * k * t)])
const fit = { epochs: 3, batchSize: 4, learningRate: 0.1, optimizer: 'sgd', progress: false } as const

/** The losses of a training, and the metrics after it. */
async function trained(end: readonly LayerDefinition[], loss: never, labelOf: (k: number) => unknown) {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const model = sequential(backend, [cudnnGRU({ numUnits: 3 }), ...end], { inputSize: 2, seed: 5 })
  const examples = Array.from({ length: 8 }, (_, k) => ({ input: steps(k), label: labelOf(k) as number }))
  const { history } = await model.fit(examples, { ...fit, loss })
  return [...history.map((each) => each.loss), ...Object.values(await model.evaluate(examples, { batchSize: 8 }))]
}

const softmax = activation('softmax')
const wide = activation('sigmoid')

describe('outputScores', () => {
  it.each<[string, string, LayerDefinition[], LayerDefinition[], (k: number) => unknown]>([
    [
      'a softmax of dense',
      'softmax_cross_entropy',
      [lastStep(), dense({ units: 3 })],
      [lastStep(), dense({ units: 3, activation: 'softmax' })],
      (k) => k % 3,
    ],
    [
      'a layer of softmax',
      'softmax_cross_entropy',
      [lastStep(), dense({ units: 3 })],
      [lastStep(), dense({ units: 3 }), softmax],
      (k) => k % 3,
    ],
    [
      'a softmax at each step',
      'softmax_cross_entropy',
      [dense({ units: 3 })],
      [timeDistributed(dense({ units: 3, activation: 'softmax' }))],
      (k) => [0, 1, 2, k % 3],
    ],
    [
      'a sigmoid of dense',
      'sigmoid_cross_entropy',
      [lastStep(), dense({ units: 2 })],
      [lastStep(), dense({ units: 2, activation: 'sigmoid' })],
      (k) => [k % 2, 1],
    ],
    [
      'a layer of sigmoid',
      'sigmoid_cross_entropy',
      [lastStep(), dense({ units: 1 })],
      [lastStep(), dense({ units: 1 }), wide],
      (k) => k % 2,
    ],
    ['a softmax under CTC', 'ctc', [dense({ units: 3 })], [dense({ units: 3, activation: 'softmax' })], (k) => [k % 2]],
  ])('train and evaluate %s as the scores before it', async (_, loss, scores, probabilities, labelOf) => {
    const [expected, actual] = [
      await trained(scores, loss as never, labelOf),
      await trained(probabilities, loss as never, labelOf),
    ]
    expect(actual).toHaveLength(expected.length)
    for (const [k, value] of expected.entries()) expect(actual[k]).toBeCloseTo(value, 6)
  })

  it('are each output’s own, and outputs of other losses stay as they are', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const x = input('x', { features: 2, isSequence: false })
    const fixed = { kernelInitializer: { data: Float64Array.of(1, 0, 0, 1), shape: [2, 2] } }
    const outputs = {
      p: apply(dense({ units: 2, activation: 'softmax', ...fixed }), x),
      raw: apply(dense({ units: 2, activation: 'softmax', ...fixed }), x),
    }
    const model = functional(backend, [x], outputs)
    const batch = {
      input: { x: { data: Float64Array.of(0, Math.log(3)), shape: [1, 2] } },
      labels: { p: { data: Int32Array.of(1), shape: [1] }, raw: { data: Float64Array.of(0, 1), shape: [1, 2] } },
    }
    const loss = { p: 'softmax_cross_entropy', raw: 'mean_squared_error' } as const
    const { p_loss, raw_loss } = await model.evaluate([batch], { loss })
    expect(p_loss).toBeCloseTo(-Math.log(0.75), 6)
    expect(raw_loss).toBeCloseTo(0.0625, 6)
  })
})
