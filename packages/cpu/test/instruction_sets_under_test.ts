import { test } from 'vitest'
import { loadAddon } from '../src/cpu_backend.js'
import type { InstructionSet } from '../src/index.js'

/** The instruction sets to force one after another. Without an addon it returns none and registers a skipped test with the reason. */
export function instructionSetsUnderTest(what: string): readonly InstructionSet[] {
  const loaded = loadAddon()
  if (loaded.addon !== undefined) return loaded.addon.instructionSets()
  test.skip(`${what}: the native addon cannot be loaded (${loaded.attempts.join('; ')})`, () => undefined)
  return []
}
