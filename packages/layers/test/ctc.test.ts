import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasErrorCode, type Tensor } from '@cudnn-rnn/canonical'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { characterScorer, ctcGreedyDecoder, ctcLoss, NGramModel } from '@cudnn-rnn/train/ctc'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  cudnnLSTM,
  dense,
  type LayerBatch,
  type LayerExample,
  type LayersModel,
  lastStep,
  loadModel,
  type ModelFitOptions,
  sequential,
} from '../src/index.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-ctc-'))
})
afterEach(() => rm(directory, { recursive: true }))

/** Three marks and the blank. */
const CLASSES = 4
const reader = (backend: Backend, units = CLASSES) =>
  sequential(backend, [cudnnLSTM({ numUnits: 12, inputSize: 3, direction: 'bidirectional' }), dense({ units })], {
    seed: 3,
  })

/** Marks of two or three frames on one of three lines, and if `first` is 1 their labels begin with 1. */
function example(n: number, first = 0): LayerExample {
  const marks = Array.from({ length: 1 + (n % 3) }, (_, k) => (n * 7 + k * (1 + (n % 4))) % 3)
  const frames = marks.flatMap((mark, k) => [...Array(2 + ((n + k) % 2)).fill(mark), undefined])
  const data = Float32Array.from(frames.flatMap((mark) => [0, 1, 2].map((line) => Number(line === mark))))
  return { input: { data, shape: [frames.length, 3] }, label: marks.map((mark) => mark + first) }
}
const EXAMPLES = Array.from({ length: 24 }, (_, n) => example(n))
const inputs = EXAMPLES.map(({ input }) => input)
const FIT: ModelFitOptions = { loss: 'ctc', batchSize: 12, epochs: 40, learningRate: 0.03, clipNorm: 1 }

const values = async (model: LayersModel) => {
  const read = await Promise.all(model.variables.map(({ value }) => value.read()))
  return read.map(({ data }) => Array.from(data))
}

describe.each([
  ['reference', openReferenceBackend],
  ['cpu', openCpuBackend],
] as const)('on %s', (_, open) => {
  test('fit learns label sequences, evaluate counts the errors, decode reads', async () => {
    using backend = open()
    using model = reader(backend)
    const { tensors } = backend.stats()
    const before = await model.evaluate(EXAMPLES, { loss: 'ctc', batchSize: 24 })
    await model.fit(EXAMPLES, FIT)
    const after = await model.evaluate(EXAMPLES, { batchSize: 7 })
    expect(after.loss).toBeLessThan(0.1 * before.loss)
    expect(before['labelErrorRate']).toBeGreaterThan(0.5)
    expect(after).toMatchObject({ labelErrorRate: 0 })
    const read = await model.decode(inputs, { batchSize: 5 })
    expect(read).toEqual(EXAMPLES.map(({ label }) => label))
    expect(await model.decode(inputs, { beamWidth: 4 })).toEqual(read)
    const { tensor, lengths } = model.batchInputs(inputs)
    expect(await model.decode(tensor, { sequenceLengths: lengths })).toEqual(read)
    expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
  })

  test('a step has the loss of ctcLoss, by either convention', async () => {
    using backend = open()
    using model = reader(backend)
    const { tensor, lengths } = model.batchInputs(inputs)
    const rows = EXAMPLES.map(({ label }) => label as number[])
    const logits = await model.predict(tensor, { sequenceLengths: lengths })
    const losses: number[] = []
    const batch: LayerBatch = { input: tensor, labels: rows, sequenceLengths: lengths }
    const onStep: ModelFitOptions['onStep'] = ({ loss }) => void losses.push(loss)
    const step = { learningRate: 1e-12, onStep }
    await model.fit([batch], { ...step, loss: 'ctc' })
    const shifted = rows.map((row) => row.map((label) => label + 1))
    await model.fit([{ ...batch, labels: shifted }], { ...step, loss: { name: 'ctc', convention: 'pytorch' } })
    const columns = Math.max(...rows.map((row) => row.length))
    const data = new Int32Array(rows.length * columns)
    for (const [row, labels] of rows.entries()) data.set(labels, row * columns)
    const labels: Tensor<Int32Array> = { data, shape: [rows.length, columns] }
    const labelLengths = rows.map((row) => row.length)
    await model.fit([{ ...batch, labels, labelLengths }], { ...step, loss: { name: 'ctc', blank: CLASSES - 1 } })
    const expected = async (options: object, own: readonly (readonly number[])[]) => {
      const result = await ctcLoss(backend, { logits, labels: own, logitLengths: lengths!, ...options })
      return (await result.loss.read()).data[0]
    }
    const [last, first] = [await expected({}, rows), await expected({ convention: 'pytorch' }, shifted)]
    for (const [index, loss] of [last, first, last].entries()) expect(losses[index]).toBeCloseTo(loss, 5)
    const { loss } = await model.evaluate([{ ...batch, labels, labelLengths }], { loss: 'ctc' })
    expect(loss).toBeCloseTo(last, 5)
  })

  test('an interrupted run resumes exactly', async () => {
    using backend = open()
    const train = async (checkpoints: string, steps: readonly number[]) => {
      using model = reader(backend)
      for (const maxSteps of steps) await model.fit(EXAMPLES, { ...FIT, maxSteps, checkpoints })
      return values(model)
    }
    const whole = await train(join(directory, 'whole'), [6])
    expect(await train(join(directory, 'cut'), [4, 6])).toEqual(whole)
  })
})

test('save keeps the loss with its blank, and decode uses it', async () => {
  using backend = openReferenceBackend()
  using model = reader(backend)
  const examples = EXAMPLES.map((_, n) => example(n, 1))
  const loss = { name: 'ctc', blank: 'first', zeroInfinity: true } as const
  await model.fit(examples, { ...FIT, loss, validation: examples })
  await model.save(join(directory, 'model'))
  using again = await loadModel(backend, join(directory, 'model'))
  expect(again.loss).toEqual(loss)
  expect(await again.decode(inputs)).toEqual(examples.map(({ label }) => label))
  expect(await again.evaluate(examples, { batchSize: 24 })).toMatchObject({ labelErrorRate: 0 })
})

test('decode takes a scorer of prefixes', async () => {
  using backend = openReferenceBackend()
  using model = reader(backend)
  const language = NGramModel.train([[...'abab']], { order: 2 })
  // Nothing is learned yet: the language decides.
  const scorer = characterScorer(language, ['a', 'b', 'c'], { weight: 20, bonus: 20 })
  const [read] = await model.decode(inputs.slice(2, 3), { loss: 'ctc', beamWidth: 8, scorer })
  expect(read.join('')).toMatch(/^(01)+0?$/)
})

test('a row of no labels, and one of no steps', async () => {
  using backend = openReferenceBackend()
  using model = reader(backend)
  const none = { input: { data: new Float32Array(0), shape: [0, 3] }, label: [] }
  await model.fit([{ ...example(0), label: [] }, none], { ...FIT, maxSteps: 2, batchSize: 2 })
  expect((await model.decode([none.input]))[0]).toEqual([])
  expect(await model.evaluate([none], { batchSize: 1 })).toEqual({ loss: 0, labelErrorRate: 0 })
})

describe('refused, with the model as it was:', () => {
  const batch = (labels: LayerBatch['labels'], more: object = {}): LayerBatch[] => {
    const [input] = [example(1).input as Tensor]
    return [{ input: { data: input.data, shape: [input.shape[0], 1, 3] }, labels, ...more }]
  }
  const fitted = (label: unknown, loss: unknown = 'ctc') => [{ ...example(1), label }, loss] as const
  test.each<readonly [string, string, (model: LayersModel) => Promise<unknown>, RegExp]>([
    ...(
      [
        ['a label that is the blank', 'ERR_CTC_LABEL', fitted([3]), /blank/],
        ['a label of the blank, first', 'ERR_CTC_LABEL', fitted([0], { name: 'ctc', blank: 'first' }), /blank/],
        ['a label beyond the classes', 'ERR_CTC_LABEL', fitted([4]), /labels\[0\]\[0\]/],
        ['more labels than steps', 'ERR_CTC_LABELS_TOO_LONG', fitted(Array(20).fill(1)), /20/],
        ['one class id', 'ERR_EXAMPLE', fitted(1), /label of row 0 must be a list of class ids/],
        ['labels that are fractions', 'ERR_EXAMPLE', fitted([0.5]), /label of row 0/],
        ['a misspelled setting', 'ERR_UNKNOWN_OPTION', fitted([0], { name: 'ctc', blanc: 0 }), /blanc/],
        [
          'a setting of another loss',
          'ERR_UNKNOWN_OPTION',
          fitted([0], { name: 'mean_squared_error', blank: 0 }),
          /blank/,
        ],
        ['an unknown convention', 'ERR_INVALID_OPTION', fitted([0], { name: 'ctc', convention: 'keras' }), /keras/],
        ['a blank that is not a class', 'ERR_CTC_BLANK', fitted([0], { name: 'ctc', blank: 4 }), /0\.\.3/],
        [
          'a flag that is not a boolean',
          'ERR_INVALID_OPTION_TYPE',
          fitted([0], { name: 'ctc', zeroInfinity: 1 }),
          /zeroInfinity/,
        ],
      ] as const
    ).map(
      ([name, code, [example, loss], message]) =>
        [
          name,
          code,
          (model: LayersModel) => model.fit([example as LayerExample], { ...FIT, loss: loss as 'ctc' }),
          message,
        ] as const,
    ),
    [
      'weights',
      'ERR_EXAMPLE',
      (model) => model.fit(batch([[0]], { weights: { data: Float32Array.of(1), shape: [1] } }), { loss: 'ctc' }),
      /weights/,
    ],
    [
      'label sequences for another loss',
      'ERR_EXAMPLE',
      (model) => model.fit(batch([[0]]), { loss: 'softmax_cross_entropy' }),
      /one tensor/,
    ],
    [
      'label sequences of another number',
      'ERR_SHAPE',
      (model) => model.fit(batch([[0], [1]]), { loss: 'ctc' }),
      /labels/,
    ],
    ['decoding without ctc', 'ERR_NO_LOSS', (model) => model.decode(inputs), /undefined/],
    [
      'decoding an empty batch',
      'ERR_EMPTY_BATCH',
      (model) => model.decode({ data: new Float32Array(0), shape: [0, 1, 3] }, { loss: 'ctc' }),
      /\[0,1,3\]/,
    ],
    [
      'an empty batch',
      'ERR_EMPTY_BATCH',
      (model) => model.fit([{ input: { data: new Float32Array(0), shape: [2, 0, 3] }, labels: [] }], { loss: 'ctc' }),
      /\[2,0,3\]/,
    ],
  ])('%s (%s)', async (_, code, use, message) => {
    using backend = openReferenceBackend()
    using model = reader(backend)
    const [before, { tensors }] = [await values(model), backend.stats()]
    const error: unknown = await use(model).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(hasErrorCode(error) ? error.code : String(error)).toBe(code)
    expect((error as Error).message).toMatch(message)
    expect(await values(model)).toEqual(before)
    expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
    expect(model.loss).toBeUndefined()
  })

  test('a model without a time axis, naming the layer and its shape (ERR_LAYERS_DO_NOT_FIT)', async () => {
    using backend = openReferenceBackend()
    using model = sequential(backend, [cudnnLSTM({ numUnits: 2, inputSize: 3 }), lastStep()])
    const refused = model.fit(EXAMPLES, FIT)
    await expect(refused).rejects.toThrow(coded('ERR_LAYERS_DO_NOT_FIT'))
    await expect(refused).rejects.toThrow(
      /ctc takes logits \[T,B,K\].*: last_step \(lastStep\) before it gives \[B,2\]/,
    )
  })

  test('NaN logits: training skips every update and fails (ERR_NON_FINITE_GRADIENTS), decoding refuses (ERR_CTC_LOGITS)', async () => {
    using backend = openReferenceBackend()
    using model = reader(backend)
    const [bad] = [example(1).input as Tensor<Float32Array>]
    const spoilt = { data: bad.data.map(() => Number.NaN), shape: bad.shape }
    const before = await values(model)
    const skipped: boolean[] = []
    const onStep: ModelFitOptions['onStep'] = (report) => void skipped.push(report.skipped)
    const fitted = model.fit([{ input: spoilt, label: [1] }], { ...FIT, maxSteps: 2, onStep })
    await expect(fitted).rejects.toThrow(coded('ERR_NON_FINITE_GRADIENTS'))
    expect(skipped).toEqual([true, true])
    expect(await values(model)).toEqual(before)
    await expect(model.decode([spoilt], { loss: 'ctc' })).rejects.toThrow(coded('ERR_CTC_LOGITS'))
    // The raw logits are there for those who look for the cause.
    const [logits] = await model.predict([spoilt])
    expect(() => ctcGreedyDecoder({ data: logits.data, shape: [logits.shape[0], 1, CLASSES] }, null)).toThrow(/NaN/)
  })
})
