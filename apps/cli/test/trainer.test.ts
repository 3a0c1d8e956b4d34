import { openBackend } from '@cudnn-rnn/rnn'
import { describe, expect, it } from 'vitest'
import { Adam } from '../src/adam.js'
import { CharLanguageModel } from '../src/char_language_model.js'
import { createCorpus } from '../src/text_corpus.js'
import { type StepRecord, train } from '../src/trainer.js'
import { SMALL_PLAN, SMALL_SIZES, SMALL_TEXT } from './small_run.js'

const corpus = createCorpus('small', SMALL_TEXT)

async function trainSmall(limits: Parameters<typeof train>[6] & { onStep?: (record: StepRecord) => void }) {
  const model = new CharLanguageModel(
    await openBackend('reference'),
    { ...SMALL_SIZES, vocabularySize: corpus.vocabulary.size },
    1,
  )
  const records: StepRecord[] = []
  const saved: number[] = []
  const observer = {
    onStep: (record: StepRecord) => {
      records.push(record)
      limits.onStep?.(record)
    },
    onCheckpoint: async ({ step }: { step: number }) => {
      saved.push(step)
    },
  }
  const adam = new Adam(model.backend, model.variables)
  const result = await train(model, adam, corpus, SMALL_PLAN, { step: 0, state: null }, observer, limits)
  return { ...result, records, saved }
}

describe('train', () => {
  it('does every update of the plan, evaluates and saves as often as the plan says, and learns', async () => {
    const { ending, step, records, saved } = await trainSmall({})
    expect({ ending, step, saved }).toEqual({ ending: 'finished', step: 8, saved: [4, 8] })
    expect(records.map((record) => record.step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    const evaluated = records.filter((record) => record.heldOutBits !== undefined)
    expect(evaluated.map((record) => record.step)).toEqual([4, 8])
    expect(evaluated[1]!.heldOutBits).toBeLessThan(evaluated[0]!.heldOutBits!)
  })

  it('stops at a signal after the update it is in, and saves it', async () => {
    const controller = new AbortController()
    const { ending, step, saved } = await trainSmall({
      signal: controller.signal,
      onStep: (record) => {
        if (record.step === 3) controller.abort()
      },
    })
    expect({ ending, step, saved }).toEqual({ ending: 'interrupted', step: 3, saved: [3] })
  })

  it('stops when its time is up', async () => {
    expect(await trainSmall({ maxSeconds: 0 })).toMatchObject({ ending: 'out of time', step: 0, saved: [0] })
  })
})
