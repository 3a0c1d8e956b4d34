import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LSTMCell } from '@cudnn-rnn/cells'
import { openCheckpoint } from '@cudnn-rnn/checkpoint'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, Dataset } from '@cudnn-rnn/train'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  activation,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  lastStep,
  layerNorm,
  loadModel,
  type ModelFitOptions,
  rnn,
  scope,
  sequential,
  timeDistributed,
} from '../src/index.js'
import { classifier, FIT, float32 } from './small_classifier.js'
import { SENTENCES, values } from './small_data.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-layers-'))
})
afterEach(() => rm(directory, { recursive: true }))

const EXECUTORS = { reference: openReferenceBackend, cpu: openCpuBackend } as const

test('fit takes an optimizer of the caller, which keeps its moments and stays, and refuses one of other variables', async () => {
  using backend = openReferenceBackend()
  const made = () =>
    sequential(backend, [embedding({ size: 9, units: 4 }), lastStep(), dense({ units: 2 })], { seed: 1 })
  using model = made()
  using other = made()
  using whole = made()
  const data = { ...FIT, shuffle: false, maxSteps: 3 }
  using optimizer = new Adam(model.variables)
  await model.fit(SENTENCES, { ...data, maxSteps: 2, optimizer })
  await expect(other.fit(SENTENCES, { ...data, optimizer })).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  await model.fit(SENTENCES.slice(16), { ...data, maxSteps: 1, optimizer })
  await whole.fit(SENTENCES, { ...data, optimizer: 'adam' })
  expect(await values(model)).toEqual(await values(whole))
})

describe.each(Object.entries(EXECUTORS))('on %s', (_, open) => {
  test('sequential infers sizes and shows them', () => {
    using backend = open()
    using model = classifier(backend)
    expect(model.summary()).toMatchInlineSnapshot(`
      "layer        kind       output              parameters
                   input      [T,B] of class ids
      embedding    embedding  [T,B,4]                     20
      dropout      dropout    [T,B,4]                      0
      cudnn_gru    cudnnGRU   [T,B,12]                  1152
      concatenate  concat     [B,36]                     168
      dense        dense      [B,2]                       74
                              total                     1414"
    `)
  })

  test('console.log prints the table of a model, and a line of a layer, disposed or not', () => {
    const printed = (value: object) =>
      Reflect.apply(Reflect.get(value, Symbol.for('nodejs.util.inspect.custom')), value, [])
    using backend = open()
    const model = classifier(backend)
    const table = model.summary()
    expect(printed(model)).toBe(table)
    expect(String(model.layers[0])).toBe('embedding (embedding): [T,B] of class ids to [T,B,4]')
    model.dispose()
    expect(printed(model)).toBe(table)
  })

  test('fit learns, evaluate measures it, predict answers sentence by sentence', async () => {
    using backend = open()
    using model = classifier(backend)
    const before = await model.evaluate(SENTENCES, { loss: 'softmax_cross_entropy', batchSize: 24 })
    await model.fit(SENTENCES, { ...FIT, epochs: 40 })
    const after = await model.evaluate(SENTENCES, { batchSize: 7 })
    expect(after.loss).toBeLessThan(0.2 * before.loss)
    expect(after['accuracy']).toBe(1)
    const logits = await model.predict(
      SENTENCES.map(({ input }) => input),
      { batchSize: 5 },
    )
    expect(logits.map(({ data }) => Number(data[1] > data[0]))).toEqual(SENTENCES.map(({ label }) => label))
    // The same row in any batch.
    const [alone] = await model.predict([SENTENCES[3].input])
    expect(alone.data[0]).toBeCloseTo(logits[3].data[0], 5)
  })

  test('a run that is aborted and resumed ends in the very numbers of one that was not', async () => {
    using backend = open()
    const train = async (checkpoints: string, signal?: AbortSignal, onStep?: ModelFitOptions['onStep']) => {
      using model = classifier(backend)
      const more = { signal, onStep, validation: SENTENCES, earlyStopping: { patience: 100 } }
      const result = await model.fit(SENTENCES, { ...FIT, checkpoints, ...more })
      return { result, values: await values(model) }
    }
    const whole = await train(join(directory, 'whole'))
    expect(whole.result).toMatchObject({ step: 12, ending: 'finished' })
    const abort = new AbortController()
    const cut = join(directory, 'cut')
    const first = await train(cut, abort.signal, ({ step }) => (step === 5 ? abort.abort() : undefined))
    expect(first.result).toMatchObject({ step: 5, ending: 'aborted' })
    const steps: number[] = []
    const second = await train(cut, undefined, ({ step }) => void steps.push(step))
    expect(steps[0]).toBe(6)
    expect(second.values).toEqual(whole.values)
    expect(second.result.best).toEqual(whole.result.best)
    // The best of the run is a separate model.
    using best = await loadModel(backend, cut)
    const { loss } = await best.evaluate(SENTENCES, { batchSize: 8 })
    expect(loss).toBeCloseTo(second.result.best!.value, 6)
  })

  test('save and loadModel bring back the model under the names of TensorFlow', async () => {
    using backend = open()
    using model = classifier(backend)
    await model.fit(SENTENCES, FIT)
    const path = join(directory, 'deep/final')
    await model.save(path)
    const reader = await openCheckpoint(path)
    expect(reader.names()).toContain('cudnn_gru/layer_1/backward/bias_5')
    expect(reader.names().filter((name) => !name.startsWith('cudnn_gru'))).toMatchInlineSnapshot(`
      [
        "attention_pooling/bias",
        "attention_pooling/context",
        "attention_pooling/kernel",
        "dense/bias",
        "dense/kernel",
        "embedding/embeddings",
        "model_config",
      ]
    `)
    await reader.close()
    using again = await loadModel(backend, path)
    expect(await values(again)).toEqual(await values(model))
    const inputs = SENTENCES.map(({ input }) => input)
    expect(await again.predict(inputs)).toEqual(await model.predict(inputs))
    expect(again.loss).toBe('softmax_cross_entropy')
    expect(again.summary()).toBe(model.summary())
  })

  test('a stream gives the numbers of predict, step by step', async () => {
    using backend = open()
    const layers = [
      embedding({ size: 5, units: 4 }),
      cudnnLSTM({ numUnits: 6, numLayers: 2 }),
      dropout({ rate: 0.5 }),
      layerNorm(),
      timeDistributed(dense({ units: 3, activation: 'tanh' })),
      rnn(new LSTMCell(4)),
      activation('softmax'),
    ]
    using model = sequential(backend, layers, { seed: 2 })
    const input = { data: Int32Array.of(1, 2, 3, 4, 0, 1, 2, 2), shape: [4, 2] }
    const whole = await model.predict(input)
    using stream = model.stream({ batch: 2 })
    const first = await stream.step({ data: input.data.slice(0, 2), shape: [2] })
    expect(first.shape).toEqual([2, 4])
    const state = await stream.state()
    const rest = { data: input.data.slice(2), shape: [3, 2] }
    const later = await stream.step(rest)
    const joined = [...first.data, ...later.data]
    for (const [k, value] of joined.entries()) expect(value).toBeCloseTo(whole.data[k], 6)
    stream.restore(state)
    expect(await stream.step(rest)).toEqual(later)
    stream.reset()
    expect(await stream.step({ data: input.data.slice(0, 2), shape: [2] })).toEqual(first)
  })

  test.each([
    ['direction', 0],
    ['sequence', 2],
  ] as const)('lastStep of the %s takes the backward direction from step %i, and is saved so', async (of, step) => {
    using backend = open()
    const layer = cudnnLSTM({ numUnits: 2, direction: 'bidirectional', inputSize: 1 })
    using whole = sequential(backend, [layer], { seed: 3 })
    using model = sequential(backend, [layer, lastStep({ of })], { seed: 3 })
    const input = { data: Float32Array.of(0.1, 0.7, -0.4), shape: [3, 1, 1] }
    const { data: all } = await whole.predict(input)
    const expected = [...all.subarray(8, 10), ...all.subarray(4 * step + 2, 4 * step + 4)]
    expect([...(await model.predict(input)).data]).toEqual(expected)
    await model.save(join(directory, 'model'))
    using again = await loadModel(backend, join(directory, 'model'))
    expect([...(await again.predict(input)).data]).toEqual(expected)
  })

  test('batches of a Dataset, weights and lengths: padding does not count', async () => {
    using backend = open()
    const layers = [cudnnLSTM({ numUnits: 4, inputSize: 3 }), dense({ units: 2 })]
    using model = sequential(backend, layers, { seed: 5 })
    const input = float32([4, 2, 3])
    const labels = float32([4, 2, 2])
    const spoilt = { data: labels.data.slice(), shape: labels.shape }
    // Row 1 has two steps: elements past them must not matter.
    spoilt.data.fill(1e6, 2 * 4 + 2, 2 * 4 + 4)
    spoilt.data.fill(1e6, 3 * 4 + 2, 3 * 4 + 4)
    const sequenceLengths = [4, 2]
    const loss = 'mean_squared_error'
    const clean = await model.evaluate(Dataset.fromArray([{ input, labels, sequenceLengths }]), { loss })
    const same = await model.evaluate(Dataset.fromArray([{ input, labels: spoilt, sequenceLengths }]), { loss })
    expect(same).toEqual(clean)
    await model.fit([{ input, labels, sequenceLengths }], { loss, epochs: 100, learningRate: 0.05 })
    expect((await model.evaluate([{ input, labels, sequenceLengths }])).loss).toBeLessThan(0.2 * clean.loss)
  })

  test('scope disposes the tensors that are not returned; fit, evaluate and predict leave none', async () => {
    using backend = open()
    using model = classifier(backend)
    const { tensors } = backend.stats()
    await model.fit(SENTENCES, FIT)
    await model.evaluate(SENTENCES, { batchSize: 8 })
    await model.predict(SENTENCES.map(({ input }) => input))
    expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })

    const kept = await scope(async () => {
      const input = { data: Int32Array.of(1, 2, 3, 4), shape: [2, 2] }
      const { output, tape } = await model.call(input)
      const { variables } = await model.gradients(tape!, output)
      await scope(async () => backend.ops.activate(output, 'tanh'))
      return { output, first: [variables[0]] }
    })
    expect(backend.stats()).toMatchObject({ tensors: tensors + 2, tapes: 0 })
    expect(kept.output.disposed).toBe(false)
    expect((await kept.first[0].read()).shape).toEqual([5, 4])
    kept.output.dispose()
    kept.first[0].dispose()
    // Side by side, and with an error.
    const sums = [1, 2, 3].map((n) =>
      scope(async () => {
        const a = backend.tensor(float32([n]))
        await new Promise((resolve) => setTimeout(resolve, 3 - n))
        const b = backend.ops.activate(a, 'relu')
        if (n === 2) throw new Error('two')
        return b
      }),
    )
    const settled = await Promise.allSettled(sums)
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(backend.stats().tensors).toBe(tensors + 2)
    expect(() => scope(1 as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })
})
