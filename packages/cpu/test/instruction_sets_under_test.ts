import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { test } from 'vitest'
import { loadAddon } from '../src/cpu_backend.js'
import type { InstructionSet } from '../src/index.js'

/** So many instruction sets in a run of the same tests on another build; CUDNN_RNN_SEED moves whose turn it is. By default all. */
const { CUDNN_RNN_INSTRUCTION_SETS: count = 'Infinity', CUDNN_RNN_SEED: seed = '1' } = process.env

/** The instruction sets to force one after another. Without an addon it returns none and registers a skipped test with the reason. */
export function instructionSetsUnderTest(what: string): readonly InstructionSet[] {
  const loaded = loadAddon()
  if (loaded.addon !== undefined)
    return loaded.addon
      .instructionSets()
      .filter((_, index, { length }) => (index + Number(seed)) % length < Number(count))
  test.skip(`${what}: the native addon cannot be loaded (${loaded.attempts.join('; ')})`, () => undefined)
  return []
}

/**
 * The best of the sets of each length of vectors, which differ from one another in products of int8 and bfloat16 alone. In
 * `npm run test:all` it returns all.
 */
export function vectorsUnderTest(what: string): readonly InstructionSet[] {
  const vectorsOf = (name: InstructionSet) => name.split('-')[0]
  const sets = instructionSetsUnderTest(what)
  if (requestedExtent === 'all') return sets
  return sets.filter((name, index) => sets.findIndex((other) => vectorsOf(other) === vectorsOf(name)) === index)
}
