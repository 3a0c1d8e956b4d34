import { expect, it } from 'vitest'
import { guarded } from '../src/index.js'

it.each<[string, (value: number) => unknown]>([
  [
    'exception',
    (value) => {
      throw value
    },
  ],
  ['rejection', (value) => Promise.reject(value)],
])('gives the %s of a listener to fail', async (_, listen) => {
  const failures: unknown[] = []
  expect(guarded(listen, (error) => failures.push(error))(7)).toBeUndefined()
  await Promise.resolve()
  expect(failures).toEqual([7])
})

it('passes on all values', () => {
  const seen: unknown[] = []
  guarded(
    (...values: readonly unknown[]) => seen.push(...values),
    (error) => seen.push(error),
  )(1, 'a')
  expect(seen).toEqual([1, 'a'])
})
