import { test } from 'vitest'
import type { InstructionSet } from '../src/index.js'
import { loadAddon } from '../src/load_addon.js'

/** The instruction sets to force one after another; where there is no addon, none, and a skipped test that says so. */
export function instructionSetsUnderTest(what: string): readonly InstructionSet[] {
  const { addon, attempts } = loadAddon()
  if (addon !== undefined) return addon.instructionSets()
  const reasons = attempts.map(({ reason }) => reason).join('; ')
  test.skip(`${what}: the native addon cannot be loaded (${reasons})`, () => undefined)
  return []
}
