import { describe, expect, it } from 'vitest'
import { RecentlyUsed } from '../src/device/recently_used.js'

function cacheOf(capacity: number) {
  const dropped: (string | null)[] = []
  return { cache: new RecentlyUsed<string | null>(capacity, (value) => dropped.push(value)), dropped }
}

describe('RecentlyUsed', () => {
  it('drops the least recently used value beyond its capacity', () => {
    const { cache, dropped } = cacheOf(2)
    cache.set('a', 'A')
    cache.set('b', 'B')
    expect(cache.get('a')).toBe('A')
    cache.set('c', null)
    expect(cache.get('b')).toBeUndefined()
    expect([cache.get('a'), cache.get('c')]).toEqual(['A', null])
    expect(dropped).toEqual(['B'])
    cache.set('d', 'D')
    cache.set('e', 'E')
    expect(dropped).toEqual(['B', 'A', null])
  })

  it('drops the value that another of the same key replaces, and no other', () => {
    const { cache, dropped } = cacheOf(2)
    cache.set('a', 'A')
    cache.set('b', 'B')
    cache.set('a', 'other')
    cache.set('a', 'other')
    expect(dropped).toEqual(['A'])
    // The replacement is the more recently used one.
    cache.set('c', 'C')
    expect([cache.get('b'), cache.get('a')]).toEqual([undefined, 'other'])
  })

  it('removes a value, but not one that took its place', () => {
    const { cache, dropped } = cacheOf(2)
    cache.set('a', 'failed')
    cache.remove('a', 'failed')
    expect(dropped).toEqual(['failed'])
    cache.set('a', 'replacement')
    cache.remove('a', 'failed')
    cache.remove('b', 'replacement')
    expect(cache.get('a')).toBe('replacement')
    expect(dropped).toHaveLength(1)
  })

  it('drops every value when it is cleared, once', () => {
    const { cache, dropped } = cacheOf(3)
    for (const key of ['a', 'b', 'c']) cache.set(key, key)
    cache.clear()
    cache.clear()
    expect(dropped).toEqual(['a', 'b', 'c'])
    expect(cache.get('a')).toBeUndefined()
  })
})
