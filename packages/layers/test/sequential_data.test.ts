import { hasErrorCode } from '@cudnn-rnn/canonical'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Dataset } from '@cudnn-rnn/train'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  cudnnGRU,
  cudnnLSTM,
  dense,
  type LayerExample,
  type LayersModel,
  repeatVector,
  sequential,
} from '../src/index.js'
import { classifier, FIT, float32 } from './small_classifier.js'
import { SENTENCES, values } from './small_data.js'

test('a sequence that a model makes of a vector has all steps, in lists of rows too', async () => {
  using backend = openReferenceBackend()
  const model = sequential(backend, [repeatVector({ steps: 3 }), dense({ units: 1 })], {
    inputSize: 2,
    isSequence: false,
  })
  const rows = [
    [1, 2],
    [3, 4],
  ]
  const [first] = await model.predict(rows)
  expect(first?.shape).toEqual([3, 1])
  const examples = rows.map((input) => ({ input, label: [1, 2, 3] }))
  const { history } = await model.fit(examples, { loss: 'mean_squared_error', epochs: 1 })
  expect(history[0]?.loss).toBeCloseTo((await model.evaluate(examples, { loss: 'mean_squared_error' })).loss!, 1)
  const uneven = [examples[0]!, { input: [3, 4], label: [1, 2] }]
  await expect(model.fit(uneven, { loss: 'mean_squared_error' })).rejects.toThrow(coded('ERR_EXAMPLE'))
  const short = rows.map((input) => ({ input, label: [1, 2] }))
  await expect(model.fit(short, { loss: 'mean_squared_error' })).rejects.toThrow(coded('ERR_SHAPE'))
})

describe('data that does not fit is refused', () => {
  const withModel = async (use: (model: LayersModel) => Promise<unknown>) => {
    using backend = openReferenceBackend()
    using model = classifier(backend)
    const before = await values(model)
    const error: unknown = await use(model).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(await values(model)).toEqual(before)
    return hasErrorCode(error) ? error.code : String(error)
  }
  const NOTHING = Dataset.fromArray<LayerExample>([])
  const batch = { input: { data: Int32Array.of(1, 2), shape: [2, 1] }, labels: { data: Int32Array.of(1), shape: [1] } }
  test.each<readonly [string, string, (model: LayersModel) => Promise<unknown>]>([
    ['no examples', 'ERR_EXAMPLE', (model) => model.fit([], FIT)],
    ['a dataset without examples', 'ERR_EXAMPLE', (model) => model.fit(NOTHING, FIT)],
    ['nothing to evaluate', 'ERR_EXAMPLE', (model) => model.evaluate(NOTHING, { loss: FIT.loss, batchSize: 1 })],
    ['something else than data', 'ERR_EXAMPLE', (model) => model.fit(3 as never, FIT)],
    ['an example without a label', 'ERR_EXAMPLE', (model) => model.fit([{ input: [1] }] as never, FIT)],
    ['a label that is not a class id', 'ERR_EXAMPLE', (model) => model.fit([{ input: [1], label: 0.5 }], FIT)],
    ['a label beyond the classes', 'ERR_ID_OUT_OF_RANGE', (model) => model.fit([{ input: [1], label: 2 }], FIT)],
    ['an id beyond the table', 'ERR_ID_OUT_OF_RANGE', (model) => model.fit([{ input: [1, 5], label: 0 }], FIT)],
    ['an id that is not an integer', 'ERR_EXAMPLE', (model) => model.predict([[0.5]])],
    ['vectors where ids belong', 'ERR_EXAMPLE', (model) => model.predict([float32([2, 3])])],
    ['an empty batch', 'ERR_EMPTY_BATCH', (model) => model.predict({ data: new Int32Array(0), shape: [0, 1] })],
    ['numbers for ids', 'ERR_DTYPE', (model) => model.predict(float32([2, 1]))],
    [
      'lengths beyond the batch',
      'ERR_SEQUENCE_LENGTHS',
      (model) => model.predict(batch.input, { sequenceLengths: [3] }),
    ],
    [
      'labels of another shape',
      'ERR_SHAPE',
      (model) => model.fit([{ ...batch, labels: batch.input }], { loss: FIT.loss }),
    ],
    ['an unknown loss', 'ERR_INVALID_OPTION', (model) => model.fit(SENTENCES, { ...FIT, loss: 'mse' as never })],
    [
      'an unknown optimizer',
      'ERR_INVALID_OPTION',
      (model) => model.fit(SENTENCES, { ...FIT, optimizer: 'lion' as never }),
    ],
    [
      'a function that makes no optimizer',
      'ERR_INVALID_OPTION_TYPE',
      (model) => model.fit(SENTENCES, { ...FIT, optimizer: () => ({ dispose() {} }) as never }),
    ],
    [
      'nothing for early stopping',
      'ERR_INVALID_OPTION_TYPE',
      (model) => model.fit(SENTENCES, { ...FIT, earlyStopping: null as never }),
    ],
    [
      'early stopping without a metric',
      'ERR_INVALID_OPTION',
      (model) => model.fit(SENTENCES, { ...FIT, earlyStopping: {} }),
    ],
    [
      'an option that there is not',
      'ERR_UNKNOWN_OPTION',
      (model) => model.fit(SENTENCES, { ...FIT, epoch: 3 } as never),
    ],
    ['no loss to evaluate', 'ERR_NO_LOSS', (model) => model.evaluate(SENTENCES, { batchSize: 1 })],
    ['a stream through both directions', 'ERR_BIDIRECTIONAL_STREAM', async (model) => model.stream()],
  ])('%s (%s)', async (_, code, use) => expect(await withModel(use)).toBe(code))

  test('a row of length 0, and one row', async () => {
    using backend = openCpuBackend()
    using model = classifier(backend)
    const [empty, one] = await model.predict([[], [1]])
    expect(empty.shape).toEqual([2])
    expect(one.shape).toEqual([2])
    const [alone] = await model.predict([[]])
    expect(alone.data).toEqual(empty.data)
  })

  test('a tape is for one gradients of the layer that made it (ERR_LAYER_TAPE)', async () => {
    using backend = openReferenceBackend()
    using one = sequential(backend, [dense({ units: 2 })], { inputSize: 3 })
    using other = sequential(backend, [dense({ units: 2 })], { inputSize: 3 })
    const { output, tape } = await one.call(float32([2, 2, 3]))
    await expect(other.gradients(tape!, output)).rejects.toThrow(coded('ERR_LAYER_TAPE'))
    await expect(one.gradients(undefined as never, output)).rejects.toThrow(coded('ERR_LAYER_TAPE'))
    await expect(one.gradients(tape!, float32([2, 2, 1]))).rejects.toThrow(coded('ERR_SHAPE'))
    await one.gradients(tape!, output)
    await expect(one.gradients(tape!, output)).rejects.toThrow(/consumed/)
  })

  test('states of another number (ERR_LAYER_STATES), and carried states go on where they were', async () => {
    using backend = openCpuBackend()
    using model = sequential(backend, [cudnnLSTM({ numUnits: 3, inputSize: 2 }), cudnnGRU({ numUnits: 2 })], {
      seed: 1,
    })
    const x = float32([4, 2, 2])
    const half = (begin: number) => ({ data: x.data.slice(begin * 8, begin * 8 + 8), shape: [2, 2, 2] })
    const whole = await model.predict(x)
    const options = { isTraining: false, keepStates: true }
    const first = await model.call(half(0), options)
    expect(first.states.map(({ shape }) => shape)).toEqual([
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 2],
    ])
    const second = await model.call(half(1), { ...options, states: first.states })
    const joined = [...(await first.output.read()).data, ...(await second.output.read()).data]
    for (const [k, value] of joined.entries()) expect(value).toBeCloseTo(whole.data[k], 6)
    await expect(model.call(half(0), { states: [first.states[0]] })).rejects.toThrow(coded('ERR_LAYER_STATES'))
  })
})
