import { LSTMCell } from '@cudnn-rnn/cells'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import * as ort from 'onnxruntime-node'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  apply,
  concat,
  cudnnGRU,
  cudnnLSTM,
  dense,
  functional,
  importKeras,
  input,
  type LayersModel,
  lastStep,
  layerNorm,
  type ModelValue,
  merge,
  reverse,
  rnn,
} from '../src/index.js'
import { batch, dtype, reader, translator } from './functional_models.js'

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
