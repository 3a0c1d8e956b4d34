import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { HostMemory, OperandVersions, RnnTape } from '../../../src/executor/index.js'

function openTape() {
  const memory = new HostMemory('float32')
  const [params, input] = [memory.zeros([2]), memory.zeros([3])]
  const rnn = {}
  const freed: string[] = []
  class OwnTape extends RnnTape<string> {
    protected override free(contents: string): void {
      freed.push(contents)
    }
  }
  const versions = new OperandVersions({ params, input, inputH: null, inputC: undefined })
  const tape = new OwnTape(memory.ledger, { rnn, contents: 'kept', bytes: 7, versions })
  return { memory, params, versions, rnn, freed, tape }
}

describe('RnnTape', () => {
  it('is in the ledger while it is open, and frees its contents once', () => {
    const { memory, freed, tape } = openTape()
    const { bytes } = memory.ledger.snapshot()
    expect(memory.ledger.snapshot().tapes).toBe(1)
    tape.consume()
    tape.dispose()
    expect(memory.ledger.snapshot()).toMatchObject({ tapes: 0, bytes: bytes - 7 })
    expect(freed).toEqual(['kept'])
  })

  it('gives its contents to the network that made it alone, while it is open', () => {
    const { rnn, tape } = openTape()
    expect(tape.contentsFor(rnn)).toBe('kept')
    expect(() => tape.contentsFor({})).toThrow(coded('ERR_TAPE_FOREIGN'))
    tape.dispose()
    expect(() => tape.contentsFor(rnn)).toThrow(coded('ERR_TAPE_DISPOSED'))
  })

  it('refuses a backward after an operand was overwritten, naming it', () => {
    const { params, versions, rnn, tape } = openTape()
    const output = new HostMemory('float32').zeros([1])
    versions.note('output', output)
    expect(tape.contentsFor(rnn)).toBe('kept')
    output.version++
    const stale = (argument: string) => coded('ERR_TAPE_STALE', { argument })
    expect(() => tape.contentsFor(rnn)).toThrow(stale('output'))
    params.version++
    expect(() => tape.contentsFor(rnn)).toThrow(stale('params'))
  })
})
