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
])('gives the %s of a listener to fail, with the values of the event', async (_, listen) => {
  const failures: unknown[] = []
  expect(guarded(listen, (...all) => failures.push(...all))(7)).toBeUndefined()
  await Promise.resolve()
  expect(failures).toEqual([7, 7])
})

it('passes on the values of an event', () => {
  const seen: unknown[] = []
  const listen = (number: number, text: string) => seen.push(number, text)
  guarded(listen, (error) => seen.push(error))(1, 'a')
  expect(seen).toEqual([1, 'a'])
})
