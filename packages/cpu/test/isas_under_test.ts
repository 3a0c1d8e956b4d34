import { test } from 'vitest'
import { loadAddon } from '../src/load_addon.js'

/** The instruction sets to force one after another; where there is no addon, none, and a skipped test that says so. */
export function isasUnderTest(what: string): readonly string[] {
  const { addon, attempts } = loadAddon()
  if (addon !== undefined) return addon.supportedIsas()
  const reasons = attempts.map(({ reason }) => reason).join('; ')
  test.skip(`${what}: the native addon cannot be loaded (${reasons})`, () => undefined)
  return []
}
