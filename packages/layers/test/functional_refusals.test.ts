import { BasicLSTMCell } from '@cudnn-rnn/cells'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  apply,
  cudnnGRU,
  cudnnLSTM,
  dense,
  embedding,
  functional,
  input,
  lastStep,
  type ModelValue,
  merge,
  rnn,
} from '../src/index.js'
import { batch, dtype, loss, numbers, translator } from './functional_models.js'

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
