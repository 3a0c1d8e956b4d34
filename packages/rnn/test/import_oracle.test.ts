import { describe, expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { type OracleOutcome, outcomeOf } from './oracle_outcome.js'
import { Pack } from './oracle_pack.js'

// Made by fixtures/interop/make_{keras,pytorch,onnx}_oracle.py: every file is imported as its own framework
// computes it, or refused by name with a reason.
describe.each(['keras', 'pytorch', 'onnx'])('importWeights and modelFromNetwork on models of %s', (framework) => {
  it('agree with each or refuse it for the recorded reason', { timeout: 60_000 }, async () => {
    const pack = new Pack(framework)
    const outcomes = new Map<string, OracleOutcome>()
    for (const oracle of pack.cases) outcomes.set(oracle.name, await outcomeOf(pack, oracle))
    const count = (...kinds: readonly string[]) =>
      [...outcomes.values()].filter(({ kind }) => kinds.includes(kind)).length
    measured({
      'models of frameworks': outcomes.size,
      'with the numbers of their framework': count('agreed'),
      'refused for the recorded reason': count('refused'),
      'refused without need': count('misrefused'),
      'silent differences': count('differs', 'accepted', 'misnamed', 'unnoted'),
      'lost networks': count('missing'),
    })
    const worst = Math.max(...[...outcomes.values()].map((outcome) => (outcome.kind === 'agreed' ? outcome.worst : 0)))
    measured({ 'worst relative difference of an output': worst }, 'most')
    const wrong = [...outcomes].filter(([, { kind }]) => kind !== 'agreed' && kind !== 'refused')
    expect(Object.fromEntries(wrong)).toEqual({})
  })
})
