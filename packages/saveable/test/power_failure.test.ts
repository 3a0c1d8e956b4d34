import { Random } from '@cudnn-rnn/fuzzing'
import { expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { failPower } from '../fuzz/power_failures.js'
import { SCENARIOS, type ScenarioName } from '../fuzz/save_scenarios.js'

const DRAWS = Number(process.env['CUDNN_RNN_POWER_FAILURES'] ?? 8)
const SEED = Number(process.env['CUDNN_RNN_FUZZ_SEED'] ?? 1)

// Windows flushes no directory; NTFS has the changes of names in a journal, in order.
it
  .skipIf(process.platform === 'win32')
  .each([
    ...Object.keys(SCENARIOS).map((name) => [name as ScenarioName, { links: true }] as const),
    ['a new prefix', { links: false }] as const,
  ])('a power failure during a save loses no checkpoint and leaves nothing: %s, %j', async (name, options) => {
  const counts = await failPower(name, DRAWS, new Random(SEED), options)
  measured({
    'simulated power failures': counts.interrupted,
    'after which the old checkpoint is the latest': counts.old,
    'after which the new one is': counts.new,
  })
  expect(counts.interrupted).toBeGreaterThan(DRAWS)
  expect(counts.old).toBeGreaterThan(0)
  expect(counts.new).toBeGreaterThan(0)
})
