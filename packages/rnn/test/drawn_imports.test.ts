import { describe, expect, it } from 'vitest'
import { type DrawnOutcome, drawnOutcome } from './drawn_outcome.js'
import { Pack } from './oracle_pack.js'

const path = process.env.CUDNN_RNN_DRAWN_PACK

// Made by fixtures/interop/make_drawn_oracle.py --out PATH; CUDNN_RNN_DRAWN_PACK is PATH.
describe.skipIf(path === undefined)('importWeights and importKeras on drawn model files', () => {
  it('have the numbers of the library or refuse the file with a code', { timeout: 300_000 }, async () => {
    const pack = new Pack('drawn', path)
    const outcomes = new Map<string, DrawnOutcome>()
    for (const oracle of pack.cases) outcomes.set(oracle.name, await drawnOutcome(pack, oracle))
    const counts: Record<string, number> = {}
    for (const [name, outcome] of outcomes) {
      const kind = `${name.split(' ', 1)[0]} ${outcome.split(':', 1)[0]}`
      counts[kind] = (counts[kind] ?? 0) + 1
    }
    console.log(`${pack.cases.length} models`, counts)
    const wrong = [...outcomes].filter(([, outcome]) => outcome !== 'agreed' && outcome !== 'refused')
    expect(Object.fromEntries(wrong)).toEqual({})
  })
})
