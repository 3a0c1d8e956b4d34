import { hasErrorCode, type Tensor } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { ctcGreedyDecoder } from '@cudnn-rnn/train/ctc'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  cudnnLSTM,
  type LayerBatch,
  type LayerExample,
  type LayersModel,
  lastStep,
  type ModelFitOptions,
  sequential,
} from '../src/index.js'
import { CLASSES, EXAMPLES, example, FIT, inputs, reader } from './ctc_reader.js'
import { values } from './small_data.js'

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
