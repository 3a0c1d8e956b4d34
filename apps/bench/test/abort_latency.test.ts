import { expect, it } from 'vitest'
import { measureAborts } from '../src/abort_latency.js'

it('aborts a call at each place, all of which end', async () => {
  const { table, worst } = await measureAborts({ backend: 'reference', aborts: 1, seed: 1 })
  expect(table).toMatch(/^fit: first batch +1 +\d+ +\d+$/m)
  expect(worst).toBeGreaterThan(0)
})
