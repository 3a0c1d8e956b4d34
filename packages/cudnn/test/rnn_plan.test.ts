import { describe, expect, it } from 'vitest'
import { DeviceBuffer } from '../src/device/device_buffer.js'
import type { DeviceSession } from '../src/device/device_session.js'
import { PlanCache, type PlanParts, rnnPlan } from '../src/rnn/rnn_plan.js'

/** Makes plans whose descriptors are numbered, and records the objects that they destroy. */
function plans() {
  const destroyed: (number | null)[] = []
  const freed: number[] = []
  let next = 0
  const home = { newId: <Id>() => ++next as Id, account: () => {}, release: ({ id }: DeviceBuffer) => freed.push(id) }
  const session = { destroy: (...ids: (number | null)[]) => destroyed.push(...ids) } as unknown as DeviceSession
  const make = (first: number, lengths: readonly ('given' | 'real')[] = []) =>
    rnnPlan(session, {
      descriptors: { x: first, y: first + 1, h: first + 2, c: null },
      lengths: Object.fromEntries(lengths.map((name) => [name, new DeviceBuffer(home, 8)])),
    } as unknown as PlanParts)
  return { make, destroyed, freed }
}

describe('rnnPlan', () => {
  it('destroys its descriptors and frees its lengths with the last owner, once', () => {
    const { make, destroyed, freed } = plans()
    const plan = make(10, ['given', 'real']).retain()
    plan.release()
    expect([destroyed, freed]).toEqual([[], []])
    plan.release()
    expect(destroyed).toEqual([10, 11, 12, null])
    expect(freed).toEqual([1, 2])
    plan.release()
    expect(destroyed).toHaveLength(4)
  })
})

describe('PlanCache', () => {
  const sizes = { time: 5, batch: 2, sequenceLengths: null }

  it('distinguishes plans by time, rows, lengths and training', () => {
    const keys = [
      PlanCache.key(sizes, true),
      PlanCache.key(sizes, false),
      PlanCache.key({ ...sizes, time: 2, batch: 5 }, true),
      PlanCache.key({ ...sizes, sequenceLengths: Int32Array.of(5, 5) }, true),
      PlanCache.key({ ...sizes, sequenceLengths: Int32Array.of(5, 1) }, true),
      PlanCache.key({ ...sizes, batch: 1, sequenceLengths: Int32Array.of(51) }, true),
    ]
    expect(new Set(keys).size).toBe(keys.length)
    expect(PlanCache.key({ ...sizes }, true)).toBe(keys[0])
  })

  it('drops the least recently used plan beyond its capacity', () => {
    const { make, destroyed } = plans()
    const cache = new PlanCache(2)
    const [a, b, c] = [make(10), make(20), make(30)]
    cache.set('a', a)
    cache.set('b', b)
    expect(cache.get('a')).toBe(a)
    cache.set('c', c)
    expect(cache.get('b')).toBeUndefined()
    expect([cache.get('a'), cache.get('c')]).toEqual([a, c])
    expect(destroyed).toEqual([20, 21, 22, null])
  })

  it('keeps a dropped plan alive for the owners that it has', () => {
    const { make, destroyed } = plans()
    const cache = new PlanCache(1)
    const tape = make(10).retain()
    cache.set('a', tape)
    cache.set('b', make(20))
    expect(destroyed).toEqual([])
    tape.release()
    expect(destroyed).toEqual([10, 11, 12, null])
  })

  it('drops the plan that another of the same key replaces, and no other', () => {
    const { make, destroyed } = plans()
    const cache = new PlanCache(2)
    const [a, b, other] = [make(10), make(20), make(30)]
    cache.set('a', a)
    cache.set('b', b)
    cache.set('a', other)
    expect(destroyed).toEqual([10, 11, 12, null])
    expect([cache.get('b'), cache.get('a')]).toEqual([b, other])
    // The replacement is the more recently used one.
    cache.get('a')
    cache.set('c', make(40))
    expect(cache.get('b')).toBeUndefined()
    expect(cache.get('a')).toBe(other)
  })

  it('removes a failed plan, but not one that took its place', () => {
    const { make, destroyed } = plans()
    const cache = new PlanCache(2)
    const [failed, replacement] = [make(10), make(20)]
    cache.set('a', failed)
    cache.remove('a', failed)
    expect(destroyed).toEqual([10, 11, 12, null])
    cache.set('a', replacement)
    cache.remove('a', failed)
    cache.remove('b', replacement)
    expect(cache.get('a')).toBe(replacement)
    expect(destroyed).toHaveLength(4)
  })

  it('releases every plan when it is cleared', () => {
    const { make, destroyed } = plans()
    const cache = new PlanCache(3)
    for (const first of [10, 20, 30]) cache.set(String(first), make(first))
    cache.clear()
    expect(destroyed.filter((id) => id !== null)).toEqual([10, 11, 12, 20, 21, 22, 30, 31, 32])
    expect(cache.get('10')).toBeUndefined()
    cache.clear()
    expect(destroyed).toHaveLength(12)
  })
})
