import { describe, expect, it } from 'vitest'
import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import { receivedError, STREAM_ANSWER, STREAM_CALL, sentError } from '../../src/threads/stream_calls.js'

const fails = () => {
  throw new Error('getter')
}
const crossed = (error: unknown) => receivedError(structuredClone(sentError(error)))

describe('sentError and receivedError', () => {
  it.each([
    codedRangeError('ERR_SHAPE', 'Cannot step as …', { argument: 'input', value: 3, missing: undefined, none: null }),
    codedTypeError('ERR_DTYPE', 'Cannot step as …', { isCoded: true }),
    Object.assign(new Error('out of luck'), { code: 'ERR_OWN' }),
  ])('keep kind, message and plain fields of %s', (error) => {
    const received = crossed(error)
    expect(received).toBeInstanceOf(error.constructor)
    expect({ ...received, message: received.message }).toEqual({ ...error, message: error.message })
  })

  it('leave out fields that may not be cloned', () => {
    const error = codedRangeError('ERR_SHAPE', 'no', { actual: [1, 2], cause: () => 1 })
    expect(Object.keys(crossed(error))).toEqual(['code'])
  })

  it.each([
    ['has no text', Object.create(null), 'an object'],
    ['throws when it is read', Object.defineProperty(new Error('no'), 'code', { enumerable: true, get: fails }), 'no'],
    ['is named as a member of every object', Object.assign(new Error('no'), { name: 'constructor' }), 'no'],
    ['has a message that is none', Object.assign(new Error(), { message: Symbol('no') }), 'Symbol(no)'],
  ])('make an error of what %s', (_, thrown, message) => {
    expect(crossed(thrown)).toBeInstanceOf(Error)
    expect(crossed(thrown).message).toContain(message)
  })

  it('make an error of anything thrown', () => {
    for (const thrown of ['text', 3, undefined, null]) expect(crossed(thrown)).toEqual(new Error(String(thrown)))
  })
})

it.each([STREAM_CALL, STREAM_ANSWER])('numbers are used once', (table) => {
  expect(new Set(Object.values(table)).size).toBe(Object.keys(table).length)
})
