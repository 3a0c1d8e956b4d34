import { describe, expect, it, vi } from 'vitest'
import { abandonable, abortable, abortableItems, isAbort } from '../../src/rules/index.js'

const never = new Promise<never>(() => {})
const reason = new Error('enough')

/** A signal that is aborted before the work, or while it waits. */
const MOMENTS = {
  before: () => AbortSignal.abort(reason),
  during: () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(reason), 1)
    return controller.signal
  },
}

describe.each(Object.entries(MOMENTS))('work whose signal is aborted %s', (_, signalOf) => {
  it('is abandoned if it does not end, and a late result is disposed', async () => {
    let resolve = (_result: string) => {}
    const promise = new Promise<string>((settle) => {
      resolve = settle
    })
    const late = vi.fn()
    await expect(abortable(signalOf(), promise, late)).rejects.toBe(reason)
    resolve('result')
    await promise
    expect(late).toHaveBeenCalledExactlyOnceWith('result')
  })

  it('may end within the grace period, with its result or its error', async () => {
    const signal = signalOf()
    expect(await abortable(signal, new Promise((resolve) => setTimeout(resolve, 5, 1)))).toBe(1)
    await expect(abortable(signal, Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  })

  it('reads no further element, and the iterator is returned', async () => {
    const close = vi.fn(() => never)
    const items = { [Symbol.asyncIterator]: () => ({ next: () => never, return: close }) }
    await expect(abortableItems(signalOf(), items).next()).rejects.toBe(reason)
    expect(close).toHaveBeenCalledOnce()
  })

  it('hides the failure of a close', async () => {
    const signal = signalOf()
    await abortable(signal, never).catch((error) => expect(isAbort(signal, error)).toBe(true))
    await abandonable(signal, Promise.reject(new Error('broken')))
    await expect(abandonable(undefined, Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  })
})

it.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('cannot dispose')
    },
  ],
  ['rejects', () => Promise.reject(new Error('cannot dispose'))],
])('a disposal of a late result that %s is printed', async (_, late) => {
  const print = vi.spyOn(console, 'error').mockReturnValue()
  const work = new Promise((resolve) => setTimeout(resolve, 80))
  await expect(abortable(AbortSignal.abort(reason), work, late)).rejects.toBe(reason)
  await vi.waitFor(() => expect(print).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('cannot dispose')), {
    timeout: 60_000,
  })
  print.mockRestore()
})

it.each(['reason', 'addEventListener', 'removeEventListener'])(
  'a signal whose %s throws rejects the call',
  async (name) => {
    const broken = new Error('broken signal')
    const signal = new Proxy(name === 'reason' ? AbortSignal.abort() : new AbortController().signal, {
      get(target, key) {
        if (key === name) throw broken
        const value = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const work = name === 'removeEventListener' ? Promise.resolve() : never
    await expect(abortable(signal, work)).rejects.toBe(broken)
  },
)

it('a source and its end that do not answer have one grace period together', async () => {
  vi.useFakeTimers()
  const items = { [Symbol.asyncIterator]: () => ({ next: () => never, return: () => never }) }
  const read = abortableItems(AbortSignal.abort(reason), abortableItems(undefined, items)).next()
  const controller = new AbortController()
  const waiting = abortableItems(controller.signal, items).next()
  controller.abort(reason)
  const settled = Promise.allSettled([read, waiting])
  await vi.advanceTimersByTimeAsync(51)
  vi.useRealTimers()
  expect(await settled).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ])
})

it('a source whose return() does not answer is left open after 10 seconds, and named', async () => {
  const print = vi.spyOn(console, 'error').mockReturnValue()
  vi.useFakeTimers()
  const closed = abandonable(undefined, never)
  await vi.advanceTimersByTimeAsync(10_000)
  vi.useRealTimers()
  await closed
  expect(print).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('return()'))
  print.mockRestore()
})

it('a source that never waits lets the abort in', async () => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason))
  async function* endless() {
    for (;;) yield 1
  }
  const read = async () => {
    for await (const _ of abortableItems(controller.signal, endless()));
  }
  await expect(read()).rejects.toBe(reason)
})

it('Listeners are removed when the work ends', async () => {
  const { signal } = new AbortController()
  const added = vi.spyOn(signal, 'addEventListener')
  const removed = vi.spyOn(signal, 'removeEventListener')
  const read = []
  for await (const item of abortableItems(
    signal,
    (async function* () {
      yield* [1, 2]
    })(),
  ))
    read.push(item)
  expect(read).toEqual([1, 2])
  expect(removed.mock.calls).toEqual(added.mock.calls)
})
