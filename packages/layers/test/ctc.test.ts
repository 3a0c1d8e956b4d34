import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tensor } from '@cudnn-rnn/canonical'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { characterScorer, ctcLoss, NGramModel } from '@cudnn-rnn/train/ctc'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LayerBatch, loadModel, type ModelFitOptions } from '../src/index.js'
import { CLASSES, EXAMPLES, example, FIT, inputs, reader } from './ctc_reader.js'
import { values } from './small_data.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-ctc-'))
})
afterEach(() => rm(directory, { recursive: true }))

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
