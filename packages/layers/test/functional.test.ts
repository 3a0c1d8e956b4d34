import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tensor } from '@cudnn-rnn/canonical'
import { LSTMCell } from '@cudnn-rnn/cells'
import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import {
  apply,
  concat,
  cudnnGRU,
  cudnnLSTM,
  dense,
  functional,
  input,
  type LayerBatch,
  lastStep,
  loadModel,
  type ModelValue,
  merge,
  rnn,
  sequential,
} from '../src/index.js'
import { modelGradients } from '../src/model/model_pass.js'
import { outputLosses } from '../src/training/output_losses.js'
import { batch, dtype, loss, numbers, reader, translator } from './functional_models.js'

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
