import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasErrorCode, type Tensor } from '@cudnn-rnn/canonical'
import { LSTMCell } from '@cudnn-rnn/cells'
import { openCheckpoint } from '@cudnn-rnn/checkpoint'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { CudnnLSTM } from '@cudnn-rnn/models'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, Dataset } from '@cudnn-rnn/train'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  activation,
  attentionPooling,
  concat,
  cudnnGRU,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  type LayerDefinition,
  type LayerExample,
  type LayersModel,
  lastStep,
  layerNorm,
  loadModel,
  type ModelFitOptions,
  maxOverTime,
  meanOverTime,
  reverse,
  rnn,
  scope,
  repeatVector,
  sequential,
  timeDistributed,
} from '../src/index.js'
import { SENTENCES, waves } from './small_data.js'

const float32 = (shape: readonly number[]) => ({ data: Float32Array.from(waves(shape).data), shape })

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-layers-'))
})
afterEach(() => rm(directory, { recursive: true }))

/** A classifier of sentences with a dropout of either kind. */
const classifier = (backend: Backend, seed = 1) =>
  sequential(
    backend,
    [
      embedding({ size: 5, units: 4 }),
      dropout({ rate: 0.2 }),
      cudnnGRU({ numUnits: 6, numLayers: 2, direction: 'bidirectional', dropout: 0.2 }),
      concat([lastStep(), maxOverTime(), attentionPooling()]),
      dense({ units: 2 }),
    ],
    { seed },
  )
const FIT: ModelFitOptions = { loss: 'softmax_cross_entropy', batchSize: 8, epochs: 4, learningRate: 0.02 }

const values = async (model: LayersModel) => {
  const read = await Promise.all(model.variables.map(({ value }) => value.read()))
  return read.map(({ data }) => Array.from(data))
}

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

describe('tensors as initial values', () => {
  test('are those of the variables, of every kind of layer', async () => {
    using backend = openReferenceBackend()
    const floats = (shape: readonly number[], offset: number): Tensor<Float32Array> => {
      return { data: Float32Array.from(waves(shape, [0.8, 0.37, offset]).data), shape }
    }
    const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 2, inputSize: 3 })
    const params = lstm.createParams({ seed: 9 })
    const canonical = await lstm.paramsToCanonical(params)
    const [table, gamma, beta] = [floats([4, 3], 0.1), floats([3], 0.2), floats([3], 0.3)]
    const [context, kernel, bias] = [floats([2, 1], 0.4), floats([2, 2], 0.5), floats([2], 0.6)]
    using model = sequential(backend, [
      embedding({ size: 4, units: 3, initializer: table }),
      layerNorm({ gammaInitializer: gamma, betaInitializer: beta }),
      cudnnLSTM({ network: { descriptor: lstm.descriptor, canonical } }),
      attentionPooling({ isLinear: true, contextInitializer: context }),
      dense({ units: 2, kernelInitializer: kernel, biasInitializer: bias }),
    ])
    const values = await Promise.all(model.variables.map(({ value }) => value.read()))
    const opaque = await params.value.read()
    expect(values).toEqual([table, gamma, beta, opaque, context, kernel, bias])
    params.dispose()
    lstm.dispose()
  })

  test('of another shape are refused', () => {
    using backend = openReferenceBackend()
    const layers = [dense({ units: 2, kernelInitializer: { data: new Float32Array(6), shape: [2, 3] } })]
    expect(() => sequential(backend, layers, { inputSize: 3 })).toThrow(coded('ERR_SHAPE'))
    expect(backend.stats().tensors).toBe(0)
  })

  test('that no array can hold are refused', () => {
    using backend = openReferenceBackend()
    const layers = [dense({ units: 2 })]
    expect(() => sequential(backend, layers, { inputSize: 2 ** 40 })).toThrow(coded('ERR_OUT_OF_MEMORY'))
    expect(backend.stats().tensors).toBe(0)
  })
})

describe('sequential refuses, before anything is computed,', () => {
  const cases: readonly (readonly [string, string, readonly unknown[], object, RegExp])[] = [
    ['no layers', 'ERR_NOT_A_LAYER', [], {}, /at least one layer/],
    ['a layer that was not called', 'ERR_NOT_A_LAYER', [lastStep], {}, /call it/],
    ['an input of unknown size', 'ERR_UNKNOWN_INPUT', [dense({ units: 2 })], {}, /dense/],
    [
      'two pools, naming both layers and shapes',
      'ERR_LAYERS_DO_NOT_FIT',
      [embedding({ size: 3, units: 4 }), lastStep(), meanOverTime()],
      {},
      /meanOverTime takes \[T,B,E\]: last_step \(lastStep\) before it gives \[B,4\]/,
    ],
    [
      'an embedding of numbers',
      'ERR_LAYERS_DO_NOT_FIT',
      [dense({ units: 4 }), embedding({ size: 3, units: 4, name: 'words' })],
      { inputSize: 2 },
      /embedding words takes \[T,B\] or \[B\] of class ids: dense \(dense\) before it gives \[T,B,4\]/,
    ],
    [
      'a recurrent layer of another input size',
      'ERR_LAYERS_DO_NOT_FIT',
      [dense({ units: 4 }), cudnnGRU({ numUnits: 2, inputSize: 3 })],
      { inputSize: 2 },
      /cudnnGRU takes \[T,B,3\]: dense \(dense\) before it gives \[T,B,4\]/,
    ],
    [
      'branches of unequal kinds',
      'ERR_LAYERS_DO_NOT_FIT',
      [concat([lastStep(), reverse()])],
      { inputSize: 2 },
      /last_step gives \[B,2\], reverse gives \[T,B,2\]/,
    ],
    [
      'two layers of one name',
      'ERR_INVALID_OPTION',
      [dense({ units: 1, name: 'a' }), reverse({ name: 'a' })],
      { inputSize: 2 },
      /its own/,
    ],
    ['an unknown option', 'ERR_UNKNOWN_OPTION', [dense({ units: 1 })], { inputsize: 2 }, /inputSize/],
    ['a seed that is none', 'ERR_INVALID_OPTION', [dense({ units: 1 })], { inputSize: 2, seed: -1 }, /seed/],
    [
      'a cell of another dtype',
      'ERR_INVALID_OPTION',
      [rnn(new LSTMCell(2, { dtype: 'float64' }))],
      { inputSize: 2 },
      /float64/,
    ],
  ]
  test.each(cases)('%s (%s)', (_, code, layers, options, message) => {
    using backend = openReferenceBackend()
    const build = () => sequential(backend, layers as LayerDefinition[], options)
    expect(build).toThrow(coded(code))
    expect(build).toThrow(message)
    expect(backend.stats()).toMatchObject({ tensors: 0, rnns: 0 })
  })

  test.each([
    ['dense without units', 'ERR_INVALID_OPTION_TYPE', () => dense({} as never)],
    ['an unknown activation', 'ERR_INVALID_OPTION', () => dense({ units: 1, activation: 'cosine' as never })],
    ['a rate above 1', 'ERR_INVALID_OPTION', () => dropout({ rate: 2 })],
    ['a rate of another kind', 'ERR_INVALID_OPTION_TYPE', () => dropout({ rate: '0.5' as never })],
    ['a misspelled option', 'ERR_UNKNOWN_OPTION', () => cudnnLSTM({ numUnit: 3 } as never)],
    ['steps of a pooling', 'ERR_INVALID_OPTION', () => timeDistributed(lastStep())],
    ['sequences for no layer', 'ERR_INVALID_OPTION', () => timeDistributed([], { steps: 2 })],
    ['sequences of rows', 'ERR_INVALID_OPTION', () => timeDistributed(dense({ units: 1 }), { steps: 2, height: 2 })],
    ['layers without steps', 'ERR_NOT_A_LAYER', () => timeDistributed([dense({ units: 1 })])],
    ['a cell that is none', 'ERR_NOT_A_LAYER', () => rnn({} as never)],
    ['no branches', 'ERR_NOT_A_LAYER', () => concat([])],
  ])('%s (%s)', (_, code, make) => expect(make).toThrow(coded(code)))

  test.each([
    ['no backend', undefined],
    ['a promise', Promise.resolve()],
  ])('%s', (_, backend) => {
    expect(() => sequential(backend as never, [reverse()], { inputSize: 1 })).toThrow(coded('ERR_NOT_A_BACKEND'))
  })
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

describe('loadModel refuses', () => {
  test('values that are not models, and unknown layers', async () => {
    using backend = openReferenceBackend()
    const path = join(directory, 'model')
    const layers = () => [rnn(new LSTMCell(2), { name: 'mine' }), lastStep()]
    using model = sequential(backend, layers(), { inputSize: 3, seed: 4 })
    await model.save(path)
    await expect(loadModel(backend, path)).rejects.toThrow(coded('ERR_UNKNOWN_LAYER'))
    await expect(loadModel(backend, path)).rejects.toThrow(/loadModel\(…, \{ layers: \{ mine: rnn\(new LSTMCell/)
    using again = await loadModel(backend, path, { layers: { mine: layers()[0] } })
    expect(await values(again)).toEqual(await values(model))
    await expect(loadModel(backend, join(directory, 'none'))).rejects.toThrow(coded('ERR_CHECKPOINT_NOT_FOUND'))
    const { tensors } = backend.stats()
    const other = rnn(new LSTMCell(5), { name: 'mine' })
    await expect(loadModel(backend, path, { layers: { mine: other } })).rejects.toThrow(/\[/)
    expect(backend.stats().tensors).toBe(tensors)
  })
})
