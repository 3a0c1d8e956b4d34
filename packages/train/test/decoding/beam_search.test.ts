import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { BeamSearchOptions } from '../../src/decoding/beam_search.js'
import { beamSearch, logSoftmax } from '../../src/index.js'

const CLASSES = 4
const END = 3

/** A model whose logits follow from the whole history, so that a state of the wrong parent shows. */
function logitsAfter(history: readonly number[], sequence: number): Float64Array {
  const seed = history.reduce((sum, id, k) => sum + (id + 1) * (k + 2.7), sequence * 1.3)
  return Float64Array.from({ length: CLASSES }, (_, id) => 2 * Math.sin(seed * (id + 1)))
}

type Histories = readonly { readonly ids: readonly number[]; readonly sequence: number }[]

function search(beamWidth: number, length: number, more: Partial<BeamSearchOptions<Histories>> = {}, batch = 2) {
  let updates = 0
  const rows = Array.from({ length: batch * beamWidth }, (_, row) => ({
    ids: [],
    sequence: Math.floor(row / beamWidth),
  }))
  const found = beamSearch<Histories>({
    initialState: rows,
    update: async (state, ids) => {
      updates++
      const next = state.map((row, k) => ({ ...row, ids: [...row.ids, ids[k]] }))
      const data = Float64Array.from(next.flatMap((row) => [...logitsAfter(row.ids, row.sequence)]))
      return { state: next, logits: { data, shape: [batch * beamWidth, CLASSES] } }
    },
    gather: (state, parents) => Array.from(parents, (parent) => state[parent]),
    batch,
    beamWidth,
    length,
    beginId: 0,
    endId: END,
    ...more,
  })
  return found.then((hypotheses) => ({ hypotheses, updates }))
}

/** Every finished or cut-off sequence, best first. */
function enumerate(sequence: number, length: number, penalty = 0) {
  const all: { ids: number[]; score: number }[] = []
  const walk = (ids: number[], total: number) => {
    if (ids.length === length || ids.at(-1) === END) all.push({ ids, score: total / ids.length ** penalty })
    else {
      const { data } = logSoftmax({ data: logitsAfter([0, ...ids], sequence), shape: [CLASSES] })
      for (let id = 0; id < CLASSES; id++) walk([...ids, id], total + data[id])
    }
  }
  walk([], 0)
  return all.sort((a, b) => b.score - a.score)
}

it.each([0, 1])(
  'beamSearch with a wide beam finds the result of enumeration (length penalty %d)',
  async (lengthPenalty) => {
    const width = 3 ** 4
    const { hypotheses } = await search(width, 4, { lengthPenalty, earlyStop: false })
    for (const [sequence, found] of hypotheses.entries()) {
      const expected = enumerate(sequence, 4, lengthPenalty)
      for (let k = 0; k < 10; k++) {
        expect(found[k].ids).toEqual(expected[k].ids)
        expect(found[k].score).toBeCloseTo(expected[k].score, 10)
      }
    }
  },
)

it('beamSearch of width 1 is at least as good as greedy choice', async () => {
  const { hypotheses } = await search(1, 3, {}, 1)
  const ids: number[] = []
  while (ids.length < 3 && ids.at(-1) !== END) {
    const logits = logitsAfter([0, ...ids], 0)
    const allowed = Array.from(logits)
    ids.push(allowed.indexOf(Math.max(...allowed)))
  }
  expect(hypotheses[0][0].logProbability).toBeGreaterThanOrEqual(
    enumerate(0, 3).find((one) => one.ids.join() === ids.join())!.score - 1e-9,
  )
})

it('beamSearch never returns one sequence twice, nor ids after the end', async () => {
  const { hypotheses } = await search(6, 8)
  for (const found of hypotheses) {
    expect(new Set(found.map(({ ids }) => ids.join())).size).toBe(found.length)
    for (const { ids, finished } of found) {
      expect(ids.slice(0, -1)).not.toContain(END)
      expect(finished).toBe(ids.at(-1) === END)
    }
  }
})

it('beamSearch stops early with the same result', async () => {
  const early = await search(2, 30)
  const late = await search(2, 30, { earlyStop: false })
  expect(early.hypotheses).toEqual(late.hypotheses)
  expect(early.updates).toBeLessThan(late.updates)
})

it('beamSearch refuses counts and logits that make no sense', async () => {
  await expect(search(0, 3)).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  const update = async (state: Histories) => ({ state, logits: { data: new Float64Array(4), shape: [1, 4] } })
  await expect(search(2, 3, { update })).rejects.toThrow(coded('ERR_SHAPE'))
})
