import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { Lifetime } from '../../../src/executor/index.js'

describe('Lifetime', () => {
  it('ends once; later use throws an error that names the disposed object', () => {
    const life = new Lifetime('rnn')
    expect(() => life.check('run forward')).not.toThrow()
    expect([life.end(), life.end()]).toEqual([true, false])
    expect(life.ended).toBe(true)
    expect(() => life.check('run forward')).toThrow(coded('ERR_RNN_DISPOSED'))
    expect(() => life.check('run forward')).toThrow('Cannot run forward as the network was disposed')
  })

  it('has ended with its executor, and can still end itself once', () => {
    const backend = new Lifetime('backend')
    const rnn = new Lifetime('rnn', backend)
    expect(rnn.ended).toBe(false)
    backend.end()
    expect([rnn.ended, rnn.end(), rnn.end()]).toEqual([true, true, false])
    expect(() => rnn.check('run forward')).toThrow(coded('ERR_RNN_DISPOSED'))
  })

  it('does not end its executor', () => {
    const backend = new Lifetime('backend')
    new Lifetime('rnn', backend).end()
    expect(backend.ended).toBe(false)
    backend.check('make a tensor')
  })

  it('reports its own end before that of its executor', () => {
    const backend = new Lifetime('backend')
    const [rnn, stepper] = [new Lifetime('rnn', backend), new Lifetime('stepper', backend)]
    stepper.end()
    backend.end()
    expect(() => rnn.check('run forward')).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect(() => stepper.check('step')).toThrow(coded('ERR_STREAM_DISPOSED'))
  })
})
