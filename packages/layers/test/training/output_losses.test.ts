import type { BackendTensor } from '@cudnn-rnn/ops'
import { lossGradients } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { dense, type LayerBatch, lastStep, maxPool1d, sequential } from '../../src/index.js'
import { batchOfOutput, modelLoss, type OutputLoss, outputLosses } from '../../src/training/output_losses.js'
import type { ModelGraph } from '../../src/model/model_graph.js'
import type { CheckedLoss } from '../../src/training/losses.js'

const floats = (shape: readonly number[], ...data: number[]) => ({ data: Float64Array.from(data), shape })
/** The one rule of a model whose output has half of the input's steps; the output's part of a batch. */
function ofHalved(loss: CheckedLoss, batch: LayerBatch, isSequence = true) {
  const graph = {
    inputs: [{ name: 'input', signal: { isSequence: true, features: 1 } }],
    outputs: [{ name: 'output', signal: { isSequence, features: 1 } }],
    outputLengths: ([lengths]: readonly Int32Array[]) => [lengths!.map((t) => t >> 1)],
  } as unknown as ModelGraph
  const [{ rule }] = outputLosses(graph, 'float64', loss) as readonly [OutputLoss]
  return { rule, own: batchOfOutput(graph, batch, 'output') }
}

describe('the part of an output', () => {
  const input = floats([1, 1, 1], 0)

  test.each([null, undefined])('has no lengths for %o', (sequenceLengths) => {
    expect(ofHalved('mean_squared_error', { input, labels: input, sequenceLengths }).own.lengths).toBeNull()
  })

  test('has the lengths that the layers leave, of an array or an Int32Array, which is not written', () => {
    const lengths = Int32Array.of(4, 3, 0)
    for (const sequenceLengths of [lengths, [4, 3, 0]]) {
      const { own } = ofHalved('mean_squared_error', { input, labels: input, sequenceLengths })
      expect([...own.lengths!]).toEqual([2, 1, 0])
    }
    expect([...lengths]).toEqual([4, 3, 0])
  })
})

describe('the denominator of a loss', () => {
  const labels = floats([2, 3, 1], 1, 2, 3, 4, 5, 6)
  const batch = { input: labels, labels, sequenceLengths: [4, 0, 2] }
  const weightOf = (loss: CheckedLoss, given: LayerBatch = batch, isSequence = true) => {
    const { rule, own } = ofHalved(loss, given, isSequence)
    return rule.weight(isSequence ? [2, 3, 1] : [3, 1], own)
  }

  test('of rows is the sum of their weights, by default of the steps within the lengths of the output', () => {
    expect(weightOf('mean_squared_error', { ...batch, weights: floats([2, 3], 0.5, 2, 0, 0, 1, 1) })).toBe(4.5)
    expect(weightOf('mean_squared_error')).toBe(3)
    expect(weightOf('mean_squared_error', { input: labels, labels })).toBe(6)
    expect(weightOf('mean_squared_error', batch, false)).toBe(3)
  })

  test('of ctc is the number of rows, 1 for a sum, and of your own loss the number of rows', () => {
    expect(weightOf({ name: 'ctc' })).toBe(3)
    expect(weightOf({ name: 'ctc', reduction: 'sum' })).toBe(1)
    expect(weightOf((t, output) => t.mean(output))).toBe(3)
  })
})

describe('modelLoss', () => {
  /** The loss of an output, and its gradient with respect to the output. */
  const lossOf = async (
    model: ReturnType<typeof sequential>,
    loss: CheckedLoss,
    value: BackendTensor,
    batch: LayerBatch,
  ) => {
    const output = { name: 'output', value }
    const made = await lossGradients(model.executor, [output], (t) =>
      modelLoss(t, model.graph, outputLosses(model.graph, 'float64', loss), { output: t.value(output) }, batch),
    )
    return { loss: made.loss, gradient: made.gradients[0]! }
  }

  /** A model that gives its input back, pooled by two steps. */
  const pooled = (backend: ReturnType<typeof openReferenceBackend>) => {
    const kernelInitializer = floats([1, 1], 1)
    return sequential(backend, [maxPool1d(), dense({ units: 1, kernelInitializer })], { inputSize: 1 })
  }

  test('averages over the steps within the lengths of the output', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = pooled(backend)
    // Two rows, whose outputs have 2 and 1 steps: errors 1, 2 and 10; the fourth lies past the length.
    using output = backend.tensor(floats([2, 2, 1], 1, 10, 2, 999))
    const labels = floats([2, 2, 1], 0, 0, 0, 0)
    const result = await lossOf(model, 'mean_squared_error', output, {
      input: labels,
      labels,
      sequenceLengths: [4, 3],
    })
    expect((await result.loss.read()).data[0]).toBeCloseTo((1 + 4 + 100) / 3, 12)
    expect([...(await result.gradient.read()).data]).toEqual(
      [2 / 3, 20 / 3, 4 / 3, 0].map((value) => expect.closeTo(value, 12)),
    )
    expect(
      (await lossOf(model, 'mean_absolute_error', output, { input: labels, labels, sequenceLengths: [4, 3] })).loss,
    ).toMatchObject({
      shape: [],
    })
  })

  test('is that of CTC by hand: one step of two classes, of which one is the label', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, [dense({ units: 2 })], { inputSize: 1 })
    using output = backend.tensor(floats([1, 1, 2], Math.log(3), 0))
    const batch = { input: floats([1, 1, 1], 0), labels: [[0]] }
    const { tensors } = backend.stats()
    const { loss, gradient } = await lossOf(model, { name: 'ctc' }, output, batch)
    // The label has the probability 3/4; the gradient with respect to the logits is softmax - onehot.
    expect((await loss.read()).data[0]).toBeCloseTo(Math.log(4 / 3), 12)
    expect([...(await gradient.read()).data]).toEqual([expect.closeTo(-0.25, 12), expect.closeTo(0.25, 12)])
    expect(backend.stats().tensors).toBe(tensors + 2)
  })

  test.each([
    ['a list of label sequences', { labels: [[1], [2]] }, /list of label sequences/],
    [
      'a tensor with labelLengths',
      { labels: { data: Int32Array.of(1), shape: [1, 1] }, labelLengths: [1] },
      /labelLengths/,
    ],
  ])('refuses %s for a loss of rows', async (_, labels, message) => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, [dense({ units: 2 })], { inputSize: 1 })
    using output = backend.zeros([1, 1, 2])
    const refused = lossOf(model, 'softmax_cross_entropy', output, { input: floats([1, 1, 1], 0), ...labels })
    await expect(refused).rejects.toThrow(coded('ERR_EXAMPLE'))
    await expect(refused).rejects.toThrow(message)
  })

  test('refuses weights for CTC, and leaves no tensor', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, [dense({ units: 2 })], { inputSize: 1 })
    using output = backend.zeros([1, 1, 2])
    const { tensors } = backend.stats()
    const batch = { input: floats([1, 1, 1], 0), labels: [[0]], weights: floats([1, 1], 1) }
    await expect(lossOf(model, { name: 'ctc' }, output, batch)).rejects.toThrow(coded('ERR_EXAMPLE'))
    expect(backend.stats().tensors).toBe(tensors)
  })

  test('has class ids of rows without a time axis', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, [lastStep()], { inputSize: 2 })
    using output = backend.tensor(floats([2, 2], 0, Math.log(3), 0, 0))
    const labels = { data: Int32Array.of(1, 0), shape: [2] }
    const batch = { input: floats([1, 2, 2], 0, 0, 0, 0), labels, sequenceLengths: [1, 0] }
    const { loss } = await lossOf(model, 'softmax_cross_entropy', output, batch)
    // Rows have equal weights, rows of length 0 included: -ln 3/4 and -ln 1/2.
    expect((await loss.read()).data[0]).toBeCloseTo((Math.log(4 / 3) + Math.log(2)) / 2, 12)
  })
})
