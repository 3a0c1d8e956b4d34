import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { featuresOf, signalText } from '../src/signal.js'

describe('signalText', () => {
  it.each([
    [{ isSequence: true, features: 8 }, '[T,B,8]'],
    [{ isSequence: false, features: 1 }, '[B,1]'],
    [{ isSequence: true, features: null }, '[T,B] of class ids'],
    [{ isSequence: false, features: null, reversedFrom: 3 }, '[B] of class ids'],
  ])('of %o is %s', (signal, text) => {
    expect(signalText(signal)).toBe(text)
  })

  it('refuses a value that is not an object', () => {
    expect(() => signalText(null as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE', { argument: 'signal' }))
  })
})

describe('featuresOf', () => {
  it('is the last size; class ids have none', () => {
    expect(featuresOf({ isSequence: true, features: 8 })).toBe(8)
    expect(() => featuresOf({ isSequence: true, features: null })).toThrow(coded('ERR_BROKEN_INVARIANT'))
  })
})
