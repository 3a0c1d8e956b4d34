import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tensor } from '@cudnn-rnn/canonical'
import { BasicLSTMCell, LSTMCell } from '@cudnn-rnn/cells'
import type { Backend } from '@cudnn-rnn/ops'
import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import * as ort from 'onnxruntime-node'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  apply,
  attention,
  concat,
  cudnnGRU,
  cudnnLSTM,
  dense,
  embedding,
  functional,
  importKeras,
  input,
  type LayerBatch,
  type LayersModel,
  lastStep,
  layerNorm,
  loadModel,
  type ModelValue,
  merge,
  multiHeadAttention,
  reverse,
  rnn,
  sequential,
} from '../src/index.js'
import { dotProduct } from '../src/kinds/dot_product.js'
import { modelGradients } from '../src/model/model_pass.js'
import { outputLosses } from '../src/training/output_losses.js'

const dtype = 'float64' as const
const numbers = (shape: readonly number[], seed = 1) => ({
  data: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => Math.sin(seed + 1.7 * k)),
  shape,
})

/** An encoder whose last states begin a decoder. */
function translator(make: () => ReturnType<typeof cudnnLSTM>, backend: Backend) {
  const [past, future] = [input('past', { features: 3 }), input('future', { features: 2 })]
  const encoded = apply(make(), past)
  const decoded = apply(make(), future, { states: encoded.states })
  const outputs = { load: apply(dense({ units: 2 }), decoded), kind: apply(dense({ units: 4 }), encoded.states[0]!) }
  return functional(backend, [past, future], outputs, { seed: 3 })
}

/** A model whose second sequence reads the first one in several ways. */
function reader(backend: Backend) {
  const [past, future] = [input('past', { features: 3 }), input('future', { features: 2 })]
  const [values, query] = [apply(cudnnGRU({ numUnits: 4 }), past), apply(cudnnGRU({ numUnits: 4 }), future)]
  const own = apply(dense({ units: 3 }), values)
  const reads = [
    ...[attention({ isScaled: true }), attention({ score: 'additive' })].map((layer) => {
      return apply(layer, query, { others: [own, values] })
    }),
    apply(attention({ score: 'additive', isScaled: true }), query, { others: [values] }),
    apply(multiHeadAttention({ heads: 2, keySize: 3, units: 2 }), query, { others: [own, past] }),
  ]
  // Each step of the future with all of the past, of which there are 4 steps.
  const products = apply(dotProduct({ over: ['columns', 'columns'], steps: 4 }), query, { others: [values] })
  const seen = apply(dotProduct({ over: ['columns', 'steps'] }), products, { others: [own] })
  const load = apply(dense({ units: 2 }), merge('concat', [...reads, seen]))
  const ends = apply(lastStep(), query)
  const scores = apply(dotProduct({ over: ['columns', 'columns'], steps: 4 }), ends, { others: [values] })
  const kind = apply(dense({ units: 4 }), apply(dotProduct({ over: ['columns', 'steps'] }), scores, { others: [past] }))
  return functional(backend, [past, future], { load, kind }, { seed: 3 })
}

const batch = {
  input: { past: numbers([4, 2, 3]), future: numbers([3, 2, 2], 5) },
  labels: { load: numbers([3, 2, 2], 9), kind: { data: Int32Array.of(3, 1), shape: [2] } },
}
const loss = { load: 'mean_squared_error', kind: 'softmax_cross_entropy' } as const

describe('a model of several inputs and outputs', () => {
  test.each([
    ['an LSTM', () => cudnnLSTM({ numUnits: 5 })],
    ['a GRU of two layers', () => cudnnGRU({ numUnits: 5, numLayers: 2 })],
    ['a bidirectional LSTM', () => cudnnLSTM({ numUnits: 5, direction: 'bidirectional' })],
    ['a cell', () => rnn(new LSTMCell(5, { dtype }))],
    ['a reader', undefined],
  ])('of %s: gradients pass through values between layers, as differences of the loss show', async (_, make) => {
    using backend = openReferenceBackend({ dtype })
    using model = make === undefined ? reader(backend) : translator(make, backend)
    const { variables } = model
    const [encoder] = variables as [(typeof variables)[number]]
    const { data: read, shape } = await encoder.value.read()
    const own = Float64Array.from(read)
    const lossAt = async (k: number, step: number) => {
      const data = own.slice()
      data[k]! += step
      const { layout } = encoder.value
      using moved = backend.tensor({ data, shape }, ...((layout ? [{ layout }] : []) as []))
      backend.ops.assign(encoder.value, moved)
      return (await model.evaluate([batch], { loss })).loss
    }
    const { gradients, loss: value } = await modelGradients(model, batch, outputLosses(model.graph, dtype, loss))
    value.dispose()
    const [ofEncoder] = gradients
    const { data } = await ofEncoder!.read()
    for (const gradient of gradients) gradient.dispose()
    for (const k of [0, 7, data.length - 3]) {
      const slope = ((await lossAt(k, 1e-5)) - (await lossAt(k, -1e-5))) / 2e-5
      expect(data[k]).toBeCloseTo(slope, 7)
    }
  })

  test('has ctc, class ids and a loss of the caller at once, with the numbers of each alone', async () => {
    using backend = openReferenceBackend({ dtype })
    const speech = input('speech', { features: 2 })
    const states = apply(cudnnLSTM({ numUnits: 5 }), speech)
    const words = apply(dense({ units: 4 }), states)
    const speaker = apply(dense({ units: 3 }), apply(lastStep(), states))
    using model = functional(
      backend,
      [speech],
      { words, speaker, level: apply(dense({ units: 1 }), states) },
      { seed: 3 },
    )
    const level = (t: GradientTape, output: Value, { labels }: LayerBatch) =>
      t.elementLoss(output, labels as Tensor, 'absolute_error')
    const loss = { words: 'ctc', speaker: 'softmax_cross_entropy', level } as const
    const rows = [
      {
        input: {
          speech: [
            [1, 2],
            [3, 4],
            [5, 6],
          ],
        },
        label: { words: [0, 2], speaker: 1, level: [1, 2, 3] },
      },
      {
        input: {
          speech: [
            [6, 5],
            [4, 3],
            [2, 1],
          ],
        },
        label: { words: [1], speaker: 2, level: [3, 2, 1] },
      },
    ]
    const before = await model.evaluate(rows, { loss, batchSize: 2 })
    expect(before.loss).toBeCloseTo(before['words_loss']! + before['speaker_loss']! + before['level_loss']!, 12)
    expect(await model.evaluate(rows, { loss, batchSize: 1 })).toEqual(
      Object.fromEntries(Object.entries(before).map(([name, value]) => [name, expect.closeTo(value, 12)])),
    )
    const { words: logits, ...rest } = await model.predict({ speech: numbers([3, 2, 2]) })
    expect([logits.shape, rest.speaker.shape, rest.level.shape]).toEqual([
      [3, 2, 4],
      [2, 3],
      [3, 2, 1],
    ])
    await model.fit(rows, { loss, batchSize: 2, epochs: 200, learningRate: 0.02, progress: false })
    const after = await model.evaluate(rows)
    expect(after).toMatchObject({ words_labelErrorRate: 0, speaker_accuracy: 1 })
    expect(after.loss).toBeLessThan(before.loss / 4)
  })

  test('trains, evaluates, predicts, saves and loads, and leaves no tensor', async () => {
    using backend = openReferenceBackend({ dtype })
    const folder = await mkdtemp(join(tmpdir(), 'functional-'))
    {
      using model = translator(() => cudnnLSTM({ numUnits: 5 }), backend)
      const first = await model.evaluate([batch], { loss })
      await model.fit([batch], { loss, maxSteps: 40, learningRate: 0.05, progress: false })
      const last = await model.evaluate([batch])
      expect(last.loss).toBeLessThan(first.loss / 4)
      expect(last.loss).toBeCloseTo(last['load_loss']! + last['kind_loss']!, 12)
      expect(last['kind_accuracy']).toBe(1)
      const { load, kind } = await model.predict(batch.input)
      expect([load.shape, kind.shape]).toEqual([
        [3, 2, 2],
        [2, 4],
      ])
      await model.save(join(folder, 'model'))
      using loaded = await loadModel(backend, join(folder, 'model'))
      expect(await loaded.predict(batch.input)).toEqual({ load, kind })
      expect(await loaded.evaluate([batch])).toEqual(last)
      expect(loaded.summary()).toBe(model.summary())
    }
    await rm(folder, { recursive: true })
    expect(backend.stats()).toMatchObject({ tensors: 0, tapes: 0, rnns: 0 })
  })

  test('has a summary with the values that each layer reads', () => {
    using backend = openReferenceBackend({ dtype })
    using model = translator(() => cudnnLSTM({ numUnits: 5 }), backend)
    expect(model.summary()).toMatchInlineSnapshot(`
      "layer         kind       output   parameters  reads
      past          input      [T,B,3]
      future        input      [T,B,2]
      cudnn_lstm    cudnnLSTM  [T,B,5]         200  past
      cudnn_lstm_1  cudnnLSTM  [T,B,5]         180  future, cudnn_lstm:1, cudnn_lstm:2
      dense         dense      [T,B,2]          12  cudnn_lstm_1
      dense_1       dense      [B,4]            24  cudnn_lstm:1
      load          output     [T,B,2]              dense
      kind          output     [B,4]                dense_1
                               total           416"
    `)
  })

  test('reads rows of unequal lengths, those of each input alone', async () => {
    using backend = openReferenceBackend({ dtype })
    using model = translator(() => cudnnGRU({ numUnits: 3 }), backend)
    const row = (t: number, columns: number, seed: number) => numbers([t, columns], seed)
    const rows = { past: [row(4, 3, 1), row(2, 3, 2)], future: [row(1, 2, 3), row(3, 2, 4)] }
    const { load, kind } = await model.predict(rows)
    const alone = await model.predict({ past: [rows.past[1]!], future: [rows.future[1]!] })
    const ofSecond = (data: ArrayLike<number>, columns: number) =>
      Array.from(data).filter((_, k) => Math.floor(k / columns) % 2 === 1)
    expect(ofSecond(load.data, 2)).toEqual([...alone.load.data])
    expect(ofSecond(kind.data, 4)).toEqual([...alone.kind.data])
    const label = (t: number) => ({ load: numbers([t, 2]), kind: 1 })
    const examples = [0, 1].map((k) => ({
      input: { past: rows.past[k]!, future: rows.future[k]! },
      label: label(rows.future[k]!.shape[0]!),
    }))
    const both = await model.evaluate(examples, { loss, batchSize: 2 })
    const each = await model.evaluate(examples, { loss, batchSize: 1 })
    expect(both.loss).toBeCloseTo(each.loss, 12)
  })

  test('merges the last steps of inputs whose rows have other lengths', async () => {
    using backend = openReferenceBackend({ dtype })
    const [a, b] = ['a', 'b'].map((name) => input(name, { features: 2 })) as [ModelValue, ModelValue]
    const [gru, last] = [cudnnGRU({ numUnits: 3 }), lastStep()]
    const ends = [a, b].map((value) => apply(last, apply(gru, value)))
    using model = functional(backend, [a, b], { y: merge('dot', ends) })
    const [long, short] = [numbers([4, 1, 2]), numbers([2, 1, 2])]
    const padded = { data: Float64Array.from({ length: 8 }, (_, k) => short.data[k] ?? 9), shape: [4, 1, 2] }
    const options = { isTraining: false, sequenceLengths: { a: [4], b: [2] } }
    const { output } = await model.call({ a: long, b: padded }, options)
    expect(await output.data()).toEqual((await model.predict({ a: long, b: short })).y.data)
    output.dispose()
  })

  test('a shared layer has its variables once, and their gradients of both uses', async () => {
    using backend = openReferenceBackend({ dtype })
    const [a, b] = [input('a', { features: 2 }), input('b', { features: 2 })]
    const [shared, last] = [cudnnGRU({ numUnits: 3 }), lastStep()]
    const both = [a, b].map((value) => apply(last, apply(shared, value)))
    using model = functional(backend, [a, b], { near: merge('dot', both), far: merge('subtract', both) })
    expect(model.layers.map(({ name }) => name)).toEqual(['cudnn_gru', 'last_step'])
    expect(model.variables.length).toBe(1)
    const x = numbers([3, 2, 2])
    const { near, far } = await model.predict({ a: x, b: x })
    expect([...far.data].every((value) => value === 0)).toBe(true)
    expect([...near.data].every((value) => value > 0)).toBe(true)
  })

  test.each([
    ['concat', [1, 2, 3, 5]],
    ['add', [4, 7]],
    ['subtract', [-2, -3]],
    ['multiply', [3, 10]],
    ['average', [2, 3.5]],
    ['maximum', [3, 5]],
    ['minimum', [1, 2]],
    ['dot', [13]],
  ] as const)('merge(%s)', async (by, expected) => {
    using backend = openReferenceBackend({ dtype })
    const [a, b] = ['a', 'b'].map((name) => input(name, { features: 2, isSequence: false })) as [ModelValue, ModelValue]
    using model = functional(backend, [a, b], { y: merge(by, [a, b]) })
    const of = (...data: number[]) => ({ data: Float64Array.from(data), shape: [1, 2] })
    expect([...(await model.predict({ a: of(1, 2), b: of(3, 5) })).y.data]).toEqual(expected)
  })

  test('equals the chain with branches', async () => {
    using backend = openReferenceBackend({ dtype })
    const layers = () => [cudnnGRU({ numUnits: 3 }), dense({ units: 2 })] as const
    const [gru, head] = layers()
    const x = input('x', { features: 2 })
    using graph = functional(backend, [x], { y: apply(head, merge('concat', [x, apply(gru, x)])) }, { seed: 4 })
    const [other, end] = layers()
    using chain = sequential(backend, [concat([[], other]), end], { inputSize: 2, seed: 4 })
    const given = numbers([4, 2, 2])
    expect((await graph.predict({ x: given })).y).toEqual(await chain.predict(given))
    expect(await graph.predict(given)).toEqual(await chain.predict(given))
  })
})

describe('a model of several inputs and outputs is exported', () => {
  type Make = (backend: Backend) => LayersModel
  const network = { numUnits: 3, numLayers: 2, direction: 'bidirectional' } as const
  const models: Readonly<Record<string, Make>> = {
    'states of two layers in two directions': (backend) => translator(() => cudnnLSTM(network), backend),
    'states of cells': (backend) => translator(() => rnn(new LSTMCell(5, { dtype: backend.dtype })), backend),
    'sequences that read each other': reader,
    'states of GRUs': (backend) => translator(() => cudnnGRU({ numUnits: 4, numLayers: 2 }), backend),
    'last steps of networks that give sequences, too': (backend) => {
      const [a, b] = [input('past', { features: 3 }), input('future', { features: 2 })]
      const one = apply(cudnnLSTM({ numUnits: 2, numLayers: 2 }), a)
      const both = apply(cudnnLSTM({ numUnits: 3, direction: 'bidirectional' }), b)
      const cell = apply(rnn(new LSTMCell(4, { dtype: backend.dtype })), b)
      const ends = [one, both, cell].map((value) => apply(lastStep(), value))
      return functional(backend, [a, b], { one, both, cell, ends: merge('concat', ends) }, { seed: 6 })
    },
    'shared layers, branches and merges': (backend) => {
      const [a, b] = [input('past', { features: 3 }), input('future', { features: 2 })]
      const [wide, shared] = [dense({ units: 3 }), cudnnGRU({ numUnits: 3 })]
      const parts = concat([[], dense({ units: 2 })])
      const both = [a, apply(wide, b)].map((value) => apply(lastStep(), apply(shared, apply(reverse(), value))))
      const [left, right] = both.map((value) => apply(parts, value)) as [ModelValue, ModelValue]
      const folds = (['add', 'subtract', 'multiply', 'average', 'maximum', 'minimum', 'dot'] as const).map((by) =>
        merge(by, [left, right]),
      )
      // Keras numbers layers by their distance from the outputs.
      const deep = apply(dense({ units: 3 }), apply(layerNorm(), apply(dense({ units: 3 }), b)))
      const sum = apply(dense({ units: 2 }), merge('concat', [...folds, left]))
      return functional(backend, [a, b], { sum, future_y: deep, left }, { seed: 5 })
    },
  }
  for (const [name, make] of Object.entries(models)) {
    test(`to Keras, and is read as a model of the same numbers: ${name}`, async () => {
      using backend = openReferenceBackend({ dtype })
      using model = make(backend)
      using again = await importKeras(backend, await model.export('keras'))
      expect(again.variables.length).toBeGreaterThan(0)
      const [expected, actual] = await Promise.all([model, again].map((each) => each.predict(batch.input)))
      expect(Object.keys(actual!)).toEqual(Object.keys(expected!))
      for (const [output, { data, shape }] of Object.entries(expected!)) {
        expect(actual![output]!.shape).toEqual(shape)
        for (const [k, value] of data.entries()) expect(actual![output]!.data[k]).toBeCloseTo(value, 12)
      }
      using twice = await importKeras(backend, await again.export('keras'))
      expect(await twice.predict(batch.input)).toEqual(actual)
    })

    test(`to ONNX: ${name}`, async () => {
      using backend = openReferenceBackend()
      using model = make(backend)
      const given = Object.entries(batch.input).map(([own, { data, shape }]) => {
        return [own, { data: Float32Array.from(data), shape }] as const
      })
      const expected = await model.predict(Object.fromEntries(given))
      const session = await ort.InferenceSession.create(await model.export('onnx'))
      const feeds = given.map(([own, { data, shape }]) => [own, new ort.Tensor('float32', data, [...shape])] as const)
      const outputs = await session.run(Object.fromEntries(feeds))
      for (const [output, { data, shape }] of Object.entries(expected)) {
        expect(outputs[output]!.dims).toEqual(shape)
        for (const [k, value] of data.entries()) expect(outputs[output]!.data[k]).toBeCloseTo(value, 5)
      }
      await session.release()
    })
  }

  test('has the weights of a shared layer once in ONNX', async () => {
    using backend = openReferenceBackend()
    const [a, b] = [input('a', { features: 40 }), input('b', { features: 40 })]
    const shared = dense({ units: 50 })
    using once = functional(backend, [a], { y: apply(shared, a) })
    using twice = functional(backend, [a, b], { y: merge('add', [apply(shared, a), apply(shared, b)]) })
    const [one, two] = await Promise.all([once, twice].map((model) => model.export('onnx')))
    expect(two!.length - one!.length).toBeLessThan(4 * 40 * 50)
  })

  test.each<[string, 'keras' | 'onnx', RegExp, (a: ModelValue) => Record<string, ModelValue>]>([
    ['a dot of sequences', 'keras', /dot of sequences/, (a) => ({ y: merge('dot', [a, a]) })],
    [
      'a network that reads from both ends',
      'keras',
      /cudnn_gru \(cudnnGRU whose calls differ/,
      (a) => {
        const shared = cudnnGRU({ numUnits: 2 })
        return { y: apply(shared, a), z: apply(shared, apply(reverse(), a)) }
      },
    ],
    [
      'the last step of other directions',
      'keras',
      /last_step \(lastStep\)/,
      (a) => {
        const [last, both] = [lastStep(), cudnnGRU({ numUnits: 1, direction: 'bidirectional' })]
        return { y: apply(last, apply(both, a)), z: apply(last, apply(cudnnGRU({ numUnits: 2 }), a)) }
      },
    ],
    ['an output of the name of an input', 'onnx', /of one name/, (a) => ({ a: apply(dense({ units: 2 }), a) })],
  ])('refuses %s (ERR_NO_EXPORT)', async (_, format, message, outputs) => {
    using backend = openReferenceBackend()
    const a = input('a', { features: 2 })
    using model = functional(backend, [a], outputs(a))
    await expect(() => model.export(format)).rejects.toThrow(coded('ERR_NO_EXPORT'))
    await expect(() => model.export(format)).rejects.toThrow(message)
  })
})

describe('wrong graphs are refused', () => {
  const sequence = (name: string, features: number | null = 2) => input(name, { features })
  const a = sequence('a')
  const lstm = () => cudnnLSTM({ numUnits: 3 })
  test.each<[string, string, RegExp, () => unknown]>([
    [
      'an input that is missing',
      'ERR_MODEL_GRAPH',
      /read the input b/,
      () => open([a], { y: merge('add', [a, sequence('b')]) }),
    ],
    ['an input that is not read', 'ERR_MODEL_GRAPH', /must read the input b/, () => open([a, sequence('b')], { y: a })],
    ['two inputs of one name', 'ERR_MODEL_GRAPH', /must differ: .* a$/, () => open([a, sequence('a')], { y: a })],
    ['an output of a layer as input', 'ERR_MODEL_GRAPH', /inputs\[0\]/, () => open([apply(lstm(), a)], { y: a })],
    ['no outputs', 'ERR_MODEL_GRAPH', /an output/, () => open([a], {})],
    ['a name with a space', 'ERR_MODEL_GRAPH', /names/, () => sequence('a b')],
    ['a layer as a value', 'ERR_INVALID_ARGUMENT', /value of a model/, () => apply(lstm(), lstm() as never)],
    ['a value as a layer', 'ERR_NOT_A_LAYER', /layer/, () => apply(a as never, a)],
    [
      'merged forms',
      'ERR_LAYERS_DO_NOT_FIT',
      /add \(add\) .* a gives \[T,B,2\], dense gives \[T,B,3\]/,
      () => open([a], { y: merge('add', [a, apply(dense({ units: 3 }), a)]) }),
    ],
    [
      'a vector where a layer takes sequences',
      'ERR_LAYERS_DO_NOT_FIT',
      /last_step .* before it gives \[B,3\]/,
      () => open([a], { y: apply(lstm(), apply(lastStep(), apply(lstm(), a))) }),
    ],
    [
      'class ids merged',
      'ERR_LAYERS_DO_NOT_FIT',
      /Add takes numbers/,
      () => {
        const ids = sequence('ids', null)
        return open([ids], { y: merge('add', [ids, apply(embedding({ size: 3, units: 2 }), ids)]) })
      },
    ],
    [
      'a shared layer of other columns',
      'ERR_LAYERS_DO_NOT_FIT',
      /dense .*applied first: dense before it gives \[T,B,3\]/,
      () => {
        const shared = dense({ units: 3 })
        return open([a], { y: apply(shared, apply(shared, a)) })
      },
    ],
    [
      'states of another size',
      'ERR_LAYERS_DO_NOT_FIT',
      /2 first states \[B,3\], \[B,3\]: cudnn_gru give \[B,4\]/,
      () => open([a], { y: apply(lstm(), a, { states: apply(cudnnGRU({ numUnits: 4 }), a).states }) }),
    ],
    [
      'states of a layer without some',
      'ERR_LAYERS_DO_NOT_FIT',
      /takes 0 first states/,
      () => open([a], { y: apply(dense({ units: 3 }), a, { states: apply(lstm(), a).states }) }),
    ],
    ['dot of three', 'ERR_MODEL_GRAPH', /must be 2/, () => merge('dot', [a, a, a])],
  ])('%s', (_, code, message, make) => {
    expect(make).toThrow(coded(code))
    expect(make).toThrow(message)
  })

  function open(inputs: readonly ModelValue[], outputs: Record<string, ModelValue>) {
    using backend = openReferenceBackend({ dtype })
    try {
      return functional(backend, inputs, outputs)
    } finally {
      expect(backend.stats()).toMatchObject({ tensors: 0, rnns: 0 })
    }
  }

  test('inputs, labels and losses of other names, and one tensor for several', async () => {
    using backend = openReferenceBackend({ dtype })
    using model = translator(lstm, backend)
    const { past, future } = batch.input
    const refuse = async (call: () => Promise<unknown>, code: string, message: RegExp) => {
      await expect(call).rejects.toThrow(coded(code))
      await expect(call).rejects.toThrow(message)
    }
    await refuse(() => model.predict({ past }), 'ERR_MODEL_INPUTS', /\{ past, future \}: future is missing/)
    await refuse(
      () => model.predict(Promise.resolve({ past }) as never),
      'ERR_MODEL_INPUTS',
      /a promise: await it first/,
    )
    await refuse(() => model.predict({ past, future, more: past }), 'ERR_MODEL_INPUTS', /more is none of them/)
    await refuse(async () => model.predict(past), 'ERR_MODEL_INPUTS', /must have one output|inputs must be/)
    await refuse(() => model.predict({ past, future: numbers([3, 1, 2]) }), 'ERR_SHAPE', /past has 2, future has 1/)
    await refuse(
      () => model.fit([batch], { loss: { load: 'mean_squared_error' } as never }),
      'ERR_MODEL_INPUTS',
      /kind is missing/,
    )
    await refuse(
      () => model.fit([{ ...batch, labels: { load: past } }], { loss }),
      'ERR_MODEL_INPUTS',
      /kind is missing/,
    )
    await refuse(
      () => model.evaluate([batch], { loss: 'ctc' }),
      'ERR_LAYERS_DO_NOT_FIT',
      /dense_1 \(dense\) before it gives \[B,4\]/,
    )
    const unknown = { ...loss, kind: 'huber' as never }
    await refuse(() => model.evaluate([batch], { loss: unknown }), 'ERR_INVALID_OPTION', /loss must be one of/)
    await refuse(async () => model.stream(), 'ERR_NO_STREAM', /takes or gives states at the ends of whole sequences/)
    const lengths = { past: [4, 9] }
    await refuse(() => model.predict(batch.input, { sequenceLengths: lengths }), 'ERR_SEQUENCE_LENGTHS', /9/)
  })

  test('a model of cells predicts', async () => {
    using backend = openReferenceBackend({ dtype })
    using model = translator(() => rnn(new BasicLSTMCell(5, { dtype })), backend)
    expect((await model.predict(batch.input)).kind.shape).toEqual([2, 4])
  })
})
