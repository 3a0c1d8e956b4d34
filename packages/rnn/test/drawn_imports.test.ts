import { expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { type DrawnOutcome, drawnOutcome } from './drawn_outcome.js'
import { Pack } from './oracle_pack.js'

const path = process.env.CUDNN_RNN_DRAWN_PACK

// Made by fixtures/interop/make_drawn_oracle.py --only SOURCE --out PATH; CUDNN_RNN_DRAWN_PACK is the path of another seed.
it.each(
  path === undefined
    ? ['torch', 'names', 'flax', 'onnx', 'exported', 'keras', 'keras1', 'models', 'graphs', 'layers', 'tf']
    : ['of a seed'],
)(
  'importWeights and importKeras have the numbers of the library or refuse the file with a code: drawn models, %s',
  { timeout: 300_000 },
  async (source) => {
    const pack = new Pack(`drawn_${source}`, path)
    const outcomes = new Map<string, DrawnOutcome>()
    for (const oracle of pack.cases) outcomes.set(oracle.name, await drawnOutcome(pack, oracle))
    const count = (start: string) => [...outcomes.values()].filter((outcome) => outcome.startsWith(start)).length
    measured({
      'drawn model files': outcomes.size,
      'with the numbers of their library': count('agreed'),
      'refused with a code': count('refused'),
      'refused without need': count('misrefused'),
      'silent differences': count('differs') + count('extra'),
      'empty lists': count('lost'),
    })
    const wrong = [...outcomes].filter(([, outcome]) => outcome !== 'agreed' && outcome !== 'refused')
    expect(Object.fromEntries(wrong)).toEqual({})
    // Everyday models, of which few may be refused.
    if (source === 'models') expect(count('refused') / outcomes.size).toBeLessThan(0.05)
  },
)
