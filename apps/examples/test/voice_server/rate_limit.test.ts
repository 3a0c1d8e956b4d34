import { expect, it } from 'vitest'
import { RateLimit } from '../../src/voice_server/voice_session.js'

it('RateLimit takes a burst at once and then its rate', () => {
  let now = 0
  const limit = new RateLimit(10, 5, () => now)
  expect([limit.take(5), limit.take(1)]).toEqual([true, false])
  now = 200
  expect([limit.take(2), limit.take(1)]).toEqual([true, false])
  now = 60_000
  expect([limit.take(6), limit.take(5)]).toEqual([false, true])
})
