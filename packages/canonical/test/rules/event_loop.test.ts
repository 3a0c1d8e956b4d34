import { afterEach, expect, it, vi } from 'vitest'
import { nextTurn } from '../../src/rules/index.js'

afterEach(() => vi.unstubAllGlobals())

it.each([undefined, 'setImmediate'])('nextTurn lets timers in, without %s', async (missing) => {
  if (missing !== undefined) vi.stubGlobal(missing, undefined)
  let isLate = false
  setTimeout(() => {
    isLate = true
  })
  for (let turn = 0; turn < 1000 && !isLate; turn++) await nextTurn()
  expect(isLate).toBe(true)
})
