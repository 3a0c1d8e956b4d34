import { describe, expect, it } from 'vitest'
import { chosenSections, wavesOf } from '../src/run_all.js'
import { sections } from '../src/sections.js'

const names = (waves: ReturnType<typeof wavesOf>) => waves.map((wave) => wave.map(({ name }) => name))

describe('waves of sections', () => {
  it('one after another are in the order of the sections', () => {
    const all = sections('python')
    expect(names(wavesOf(all, 1))).toEqual(all.map(({ name }) => [name]))
  })

  it('side by side begin with the machine, and end with every section that measures', () => {
    const all = sections('python')
    const [machine, shared, ...alone] = names(wavesOf(all, 8))
    expect(machine).toEqual(['machine'])
    expect(shared).toContain('conformance')
    for (const measuring of ['busy thread', 'algorithms', 'soak', 'limits', 'timing'])
      expect(shared).not.toContain(measuring)
    expect(alone.at(-1)).toEqual(['timing'])
    expect([machine, shared, ...alone].flat().sort()).toEqual(all.map(({ name }) => name).sort())
  })

  it('side by side of chosen sections have no machine to begin with', () => {
    const chosen = chosenSections(sections(''), ['padding', 'soak', 'gradients'])
    expect(names(wavesOf(chosen, 2))).toEqual([['padding', 'gradients'], ['soak']])
  })
})

it('a name that no section has is refused', () => {
  expect(() => chosenSections(sections(''), ['padding', 'layouts'])).toThrow(
    /^Cannot run layouts as --only must name sections: machine, /,
  )
})
