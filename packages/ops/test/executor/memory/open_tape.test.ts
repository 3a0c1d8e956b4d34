import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkOwnTape, OpenTape } from '../../../src/executor/index.js'

class CountingTape extends OpenTape {
  released = 0
  protected override release(): void {
    this.released++
  }
}

describe('OpenTape', () => {
  it('serves one backward and releases once', () => {
    const tape = new CountingTape()
    tape.consume()
    tape.dispose()
    expect(tape.state).toBe('consumed')
    expect(tape.released).toBe(1)
    expect(() => tape.consume()).toThrow(coded('ERR_TAPE_CONSUMED'))
    expect(tape.released).toBe(1)
  })

  it('is disposed by dispose and by using, once, and refuses a backward afterwards', () => {
    const tape = new CountingTape()
    tape[Symbol.dispose]()
    tape.dispose()
    expect(tape.state).toBe('disposed')
    expect(tape.released).toBe(1)
    expect(() => tape.checkOpen()).toThrow(coded('ERR_TAPE_DISPOSED'))
  })
})

describe('checkOwnTape', () => {
  it('refuses no tape and the tape of another executor', () => {
    class OtherTape extends CountingTape {
      readonly other = true
    }
    expect(() => checkOwnTape(undefined, CountingTape)).toThrow(coded('ERR_NO_TAPE'))
    expect(() => checkOwnTape(new CountingTape(), OtherTape)).toThrow(coded('ERR_TAPE_FOREIGN'))
    expect(() => checkOwnTape(new CountingTape(), CountingTape)).not.toThrow()
  })
})
