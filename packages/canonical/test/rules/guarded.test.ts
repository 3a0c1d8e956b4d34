import { expect, it, vi } from 'vitest'
import { guarded, reportFailure } from '../../src/rules/index.js'

it.each<[string, (value: number) => unknown]>([
  [
    'exception',
    (value) => {
      throw value
    },
  ],
  ['rejection', (value) => Promise.reject(value)],
  // biome-ignore lint/suspicious/noThenProperty: a promise of another realm or library.
  ['thenable', (value) => ({ then: (_: unknown, reject: (error: number) => void) => reject(value) })],
])('gives the %s of a listener to fail, with the values of the event', async (_, listen) => {
  const failures: unknown[] = []
  expect(guarded(listen, (...all) => failures.push(...all))(7)).toBeUndefined()
  await new Promise((resolve) => setTimeout(resolve))
  expect(failures).toEqual([7, 7])
})

it('passes on the values of an event', () => {
  const seen: unknown[] = []
  const listen = (number: number, text: string) => seen.push(number, text)
  guarded(listen, (error) => seen.push(error))(1, 'a')
  expect(seen).toEqual([1, 'a'])
})

it.each<[string, unknown, RegExp]>([
  ['an error', new RangeError('too far'), /^RangeError: too far\n {4}at /],
  ['a symbol', Symbol('x'), /^Symbol\(x\)$/],
  ['an object without a text', Object.create(null), /^an object without fields$/],
  ['an error that cannot be read', Object.defineProperty(new Error(), 'stack', { get: () => expect.fail() }), /^an /],
  ['a proxy that refuses', new Proxy({}, { getPrototypeOf: () => expect.fail() }), /^an object/],
])('reportFailure prints %s', (_, error, text) => {
  const print = vi.spyOn(console, 'error').mockReturnValue()
  reportFailure(error)
  expect(print.mock.calls).toEqual([[expect.stringMatching(text)]])
  print.mockRestore()
})
