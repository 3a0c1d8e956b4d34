import { expect, it, vi } from 'vitest'
import { openWasmBackend } from '../src/index.js'
import { greatestDifference, trainingPass } from './training_pass.js'

/** The tests are served with the headers of cross-origin isolation. */
it('computes on the main thread of a page and a worker as on one thread', async () => {
  expect(crossOriginIsolated).toBe(true)
  using alone = await openWasmBackend({ threads: 1 })
  using backend = await openWasmBackend({ threads: 2 })
  expect(backend.reason).toMatch(/, 2 threads$/)
  const expected = await trainingPass(alone)
  for (let pass = 0; pass < 5; pass++) {
    expect(greatestDifference(await trainingPass(backend), expected)).toBeLessThan(1e-4)
  }
})

it('computes on one thread where the policy of the page stops workers, and reports it', async () => {
  const create = vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:http://localhost/none')
  using backend = await openWasmBackend({ threads: 2 })
  expect(backend.reason).toContain('1 thread (workers do not start: ')
  expect(await trainingPass(backend)).toHaveLength(2)
  create.mockRestore()
})
