import { describe, expect, it } from 'vitest'
import { cacheOf, MIB } from './recorded_lists.js'

describe('the limits of GraphCache', () => {
  it('leaves lists of more than 512 MiB to calls', async () => {
    const { buffer, step, submitted } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 5; k++) expect(await submitted(step(x, y, { bytes: 513 * MIB }))).toEqual(['calls'])
  })

  it('captures lists of up to a 64th of a large device', async () => {
    const { buffer, step, submitted } = cacheOf('always', 128 * 1024 * MIB)
    const [x, y] = [buffer(), buffer()]
    const last = async (bytes: number) => {
      for (let k = 0; k < 2; k++) await submitted(step(x, y, { bytes }))
      return submitted(step(x, y, { bytes }))
    }
    expect(await last(2047 * MIB)).toEqual(['memory', 'capture', 'graph'])
    expect(await last(2049 * MIB)).toEqual(['calls'])
  })

  it('drops the least recently used graphs beyond 1 GiB', async () => {
    const { buffer, step, submitted } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    const run = (bytes: number) => submitted(step(x, y, { bytes }))
    const [a, b, c] = [400, 401, 402].map((size) => size * MIB)
    for (const bytes of [a, b]) for (let k = 0; k < 3; k++) await run(bytes)
    expect(x.graphs?.size).toBe(2)
    // a is the more recent one now.
    expect(await run(a)).toEqual(['graph'])
    for (let k = 0; k < 3; k++) await run(c)
    expect(x.graphs?.size).toBe(2)
    expect(await run(a)).toEqual(['graph'])
    expect(await run(b)).toEqual(['memory', 'capture', 'graph'])
  })

  it('remembers 64 signatures, and releases the graph of the least recently used', async () => {
    const { buffer, step, submitted } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 3; k++) await submitted(step(x, y))
    for (let k = 1; k <= 63; k++) await submitted(step(x, y, { bytes: 16 + 4 * k }))
    expect(x.graphs?.size).toBe(1)
    await submitted(step(x, y, { bytes: 512 }))
    expect(x.graphs?.size).toBe(0)
    expect(await submitted(step(x, y))).toEqual(['calls'])
  })

  it('does not share a graph between lists of other sizes, scalars stored apart', async () => {
    const { buffer, step, submitted } = cacheOf('always')
    const [x, y, large] = [buffer(), buffer(), buffer(32)]
    for (let k = 0; k < 3; k++) await submitted(step(x, y, { value: k }))
    expect(await submitted(step(x, y, { value: 9 }))).toEqual(['graph'])
    expect(await submitted(step(x, large))).toEqual(['calls'])
  })

  it('releases every graph when it is disposed', async () => {
    const { cache, buffer, step, submitted, queue, state } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    const held = state.bytes
    for (let k = 0; k < 3; k++) await submitted(step(x, y))
    cache.dispose()
    expect(x.graphs?.size).toBe(0)
    expect(queue.released.length).toBeGreaterThan(0)
    expect(state.bytes).toBe(held)
  })
})
