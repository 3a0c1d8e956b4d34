import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { apply, cudnnGRU, dense, functional, input, lastStep, merge } from '../../src/index.js'
import { waves } from '../small_data.js'
import { B, dtype, I } from './streamed_layers.js'

describe('a stream of several inputs and outputs', () => {
  const values = { sound: waves([5, B, I], [0.8, 0.37, 1]), speaker: waves([B, 2], [0.5, 0.7, 2]) }

  async function withStreamOfTwo(use: (model: ReturnType<typeof modelOfTwo>) => Promise<void>) {
    using backend = openReferenceBackend({ dtype })
    const before = backend.stats()
    const model = modelOfTwo(backend)
    await use(model)
    model.dispose()
    expect(backend.stats()).toEqual(before)
  }

  function modelOfTwo(backend: ReturnType<typeof openReferenceBackend>) {
    const [sound, speaker] = [input('sound', { features: I }), input('speaker', { features: 2, isSequence: false })]
    const heard = apply(cudnnGRU({ numUnits: 3 }), sound)
    const last = apply(lastStep(), heard)
    const pitch = apply(dense({ units: 1 }), merge('concat', [last, apply(dense({ units: 2 }), speaker)]))
    return functional(backend, [sound, speaker], { pitch, again: pitch, heard }, { seed: 3 })
  }

  const stepAt = (k: number) => ({ data: values.sound.data.slice(k * B * I, (k + 1) * B * I), shape: [B, I] })
  const close = ({ data }: { readonly data: ArrayLike<number> }) => Array.from(data, (each) => expect.closeTo(each, 12))

  test('gives at each step the outputs of the sequences so far', () =>
    withStreamOfTwo(async (model) => {
      using stream = model.stream({ batch: B })
      using whole = model.stream({ batch: B })
      const all = await whole.step(values)
      expect(all['pitch']?.shape).toEqual([5, B, 1])
      for (let k = 0; k < 5; k++) {
        const { pitch, again, heard } = await stream.step({ ...values, sound: stepAt(k) })
        const sequenceLengths = { sound: Array(B).fill(k + 1) as number[] }
        const expected = await model.predict(values, { sequenceLengths })
        expect(pitch?.shape).toEqual([B, 1])
        expect([...pitch!.data]).toEqual(close(expected.pitch))
        expect([...again!.data]).toEqual([...pitch!.data])
        expect([...all['pitch']!.data.slice(k * B, (k + 1) * B)]).toEqual(close(expected.pitch))
        expect([...heard!.data]).toEqual(close({ data: expected.heard.data.slice(k * B * 3, (k + 1) * B * 3) }))
      }
    }))

  test('refuses other names, and steps of other numbers', () =>
    withStreamOfTwo(async (model) => {
      using stream = model.stream({ batch: B })
      await expect(stream.step(values.sound)).rejects.toThrow(coded('ERR_MODEL_INPUTS'))
      await expect(stream.step({ sound: values.sound })).rejects.toThrow(coded('ERR_MODEL_INPUTS'))
      const twice = { data: new Float64Array(5 * B * 2), shape: [5, B, 2] }
      await expect(stream.step({ sound: stepAt(0), speaker: twice })).rejects.toThrow(coded('ERR_SHAPE'))
    }))
})
