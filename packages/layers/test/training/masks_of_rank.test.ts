import { DropoutWrapper, LSTMCell } from '@cudnn-rnn/cells'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { add, cudnnGRU, dropout, rnn, sequential, timeDistributed } from '../../src/index.js'
import { MasksOfRank } from '../../src/training/masks_of_rank.js'

/** Every layer that draws masks, on sequences of 4 columns. */
const DRAWING = {
  dropout: () => dropout({ rate: 0.5 }),
  timeDistributed: () => timeDistributed(dropout({ rate: 0.5 })),
  add: () => add([[dropout({ rate: 0.5 })], []]),
  cudnnGRU: () => cudnnGRU({ numUnits: 4, numLayers: 2, dropout: 0.5 }),
  rnn: () => rnn(new DropoutWrapper(new LSTMCell(4), { inputKeepProb: 0.5, seed: 3 })),
}

function built(layer: keyof typeof DRAWING) {
  const backend = openReferenceBackend()
  return sequential(backend, [DRAWING[layer]()], { inputSize: 4, seed: 5 })
}

const input = { data: new Float32Array(3 * 8 * 4).fill(1), shape: [3, 8, 4] }

async function trainingPass(model: ReturnType<typeof built>): Promise<string> {
  const { output } = await model.call(input)
  return (await output.read()).data.join()
}

describe('MasksOfRank', () => {
  it.each(Object.keys(DRAWING) as (keyof typeof DRAWING)[])('differ by rank: %s', async (layer) => {
    const passes = await Promise.all(
      [0, 1, 2].map(async (rank) => {
        const model = built(layer)
        new MasksOfRank(model, { rank, size: 3 })
        return await trainingPass(model)
      }),
    )
    expect(new Set(passes).size).toBe(3)
    expect(passes[0]).toBe(await trainingPass(built(layer)))
  })

  it.each(Object.keys(DRAWING) as (keyof typeof DRAWING)[])(
    'continue from a state of the same rank, and begin a new stream from one of another: %s',
    async (layer) => {
      const one = built(layer)
      const masks = new MasksOfRank(one, { rank: 1, size: 2 })
      await trainingPass(one)
      const saved = JSON.parse(JSON.stringify(await masks.save()))
      const next = await trainingPass(one)
      const resumed = built(layer)
      new MasksOfRank(resumed, { rank: 1, size: 2 }).restore(saved, { rank: 1, size: 2 })
      expect(await trainingPass(resumed)).toBe(next)
      // Rank 3 of four is given the state of rank 1 of two.
      const [other, first] = [built(layer), built(layer)]
      const ofOther = new MasksOfRank(other, { rank: 3, size: 4 })
      ofOther.restore(saved, { rank: 1, size: 2 })
      new MasksOfRank(first, { rank: 3, size: 4 })
      const passes = [next, await trainingPass(other), await trainingPass(first)]
      expect(new Set(passes).size).toBe(3)
      // It continues with its own ones from then on.
      const again = built(layer)
      const position = await ofOther.save()
      const following = await trainingPass(other)
      new MasksOfRank(again, { rank: 3, size: 4 }).restore(position, { rank: 3, size: 4 })
      expect(await trainingPass(again)).toBe(following)
    },
  )

  it('are those of the model in one process, also where several ranks have saved them', async () => {
    const model = built('dropout')
    const masks = new MasksOfRank(model)
    await trainingPass(model)
    const saved = await masks.save()
    expect(saved).toEqual(await model.randomState())
    const next = await trainingPass(model)
    for (const state of [saved, [0, saved]]) {
      const resumed = built('dropout')
      new MasksOfRank(resumed).restore(state, { rank: 0, size: 1 })
      expect(await trainingPass(resumed)).toBe(next)
    }
  })
})
