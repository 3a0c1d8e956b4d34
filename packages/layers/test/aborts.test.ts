import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Dataset } from '@cudnn-rnn/train'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { dense, type LayerExample, type LayersModel, type ModelFitOptions, sequential } from '../src/index.js'

const EXAMPLES = [
  { input: [1, 2], label: [1] },
  { input: [3, 4], label: [0] },
]
const FIT = { loss: 'mean_squared_error', batchSize: 2, maxSteps: 4 } as const
const reason = new Error('enough')
const returned = vi.fn()
afterEach(() => returned.mockClear())

/** Answers `count` times, and then no more. */
function silentAfter(count: number): Dataset<LayerExample> {
  return Dataset.from(() => {
    let k = 0
    return {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          k < count ? Promise.resolve({ done: false, value: EXAMPLES[k++ % 2] }) : new Promise<never>(() => {}),
        return: async () => {
          returned()
          return { done: true, value: undefined }
        },
      }),
    } as AsyncIterable<LayerExample>
  })
}
const silence = <Result>() => new Promise<Result>(() => {})

type Use = (model: LayersModel, signal: AbortSignal) => Promise<unknown>
const fit =
  (data: Dataset<LayerExample> | readonly LayerExample[], more: Partial<ModelFitOptions> = {}): Use =>
  (model, signal) =>
    model.fit(data, { ...FIT, signal, ...more })

/** The place of each wait, whether it reads a source, and its outcome. */
const PLACES: readonly [string, Use, boolean, unknown][] = [
  ['fit, counting', fit(silentAfter(3), { maxSteps: undefined, epochs: 1 }), true, 0],
  ['fit, first batch', fit(silentAfter(0)), true, 0],
  ['fit, later batch', fit(silentAfter(5)), true, 2],
  ['fit, prefetch', fit(silentAfter(5).prefetch(2)), true, 2],
  ['fit, map', fit(silentAfter(5).map((each) => each, { concurrency: 2 })), true, 2],
  ['fit, accumulation', fit(silentAfter(2), { accumulate: 2 }), true, 0],
  ['fit, validation', fit(EXAMPLES, { validation: silentAfter(2), evaluateEvery: 1 }), true, 1],
  ['fit, evaluate', fit(EXAMPLES, { evaluate: silence, evaluateEvery: 1 }), false, 1],
  ['fit, onStart', fit(EXAMPLES, { onStart: () => silence() }), false, 0],
  ['fit, onStep', fit(EXAMPLES, { onStep: () => silence() }), false, 1],
  ['evaluate', (model, signal) => model.evaluate(silentAfter(3), { ...LOSS, signal }), true, reason],
]
const LOSS = { loss: 'mean_squared_error', batchSize: 2 } as const

/** The event loop turns as often on a busy machine: the steps before a silence have run after sixty turns. */
async function turns(count: number) {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setTimeout(resolve))
}

describe.each(PLACES)('%s', (_, use, reads, outcome) => {
  it.each([1, 2, 60])('ends if it is aborted %i turns after its start, and leaves nothing', async (wait) => {
    using backend = openReferenceBackend()
    using model = sequential(backend, [dense({ units: 1 })], { inputSize: 2, isSequence: false, seed: 1 })
    const before = backend.stats()
    const controller = new AbortController()
    const used = use(model, controller.signal)
    void turns(wait).then(() => controller.abort(reason))
    if (outcome === reason) await expect(used).rejects.toBe(reason)
    else {
      const { ending, step } = (await used) as { ending: string; step: number }
      expect(ending).toBe('aborted')
      if (wait === 60) expect(step).toBe(outcome)
    }
    expect(backend.stats()).toEqual(before)
    if (reads && wait === 60) expect(returned).toHaveBeenCalled()
  })

  it('does not begin after an abort', async () => {
    using backend = openReferenceBackend()
    using model = sequential(backend, [dense({ units: 1 })], { inputSize: 2, isSequence: false, seed: 1 })
    const used = use(model, AbortSignal.abort(reason))
    if (outcome === reason) await expect(used).rejects.toBe(reason)
    else expect(await used).toMatchObject({ ending: 'aborted', step: 0 })
  })
})

it('predict and decode reject with the reason', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [dense({ units: 2 })], { inputSize: 2, isSequence: true, seed: 1 })
  const signal = AbortSignal.abort(reason)
  const batch = { data: new Float32Array(4), shape: [2, 1, 2] }
  await expect(model.predict(batch, { signal })).rejects.toBe(reason)
  await expect(model.predict([{ data: new Float32Array(4), shape: [2, 2] }], { signal })).rejects.toBe(reason)
  await expect(model.decode(batch, { loss: 'ctc', signal })).rejects.toBe(reason)
  await expect(model.predict(batch, { signal: {} as never })).rejects.toThrow(coded('ERR_INVALID_OPTION_TYPE'))
})

it('A second fit of a model is refused at once, and changes nothing of the first', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [dense({ units: 1 })], { inputSize: 2, isSequence: false, seed: 1 })
  const first = model.fit(EXAMPLES, FIT)
  await expect(model.fit(silentAfter(0), FIT)).rejects.toThrow(coded('ERR_BEING_TRAINED'))
  await model.evaluate(EXAMPLES, LOSS)
  expect(await first).toMatchObject({ step: 4, ending: 'finished' })
  expect(await model.fit(EXAMPLES, FIT)).toMatchObject({ step: 4 })
})
