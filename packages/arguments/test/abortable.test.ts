import { describe, expect, it, vi } from 'vitest'
import { abandonable, abortable, abortableItems, isAbort } from '../src/index.js'

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
