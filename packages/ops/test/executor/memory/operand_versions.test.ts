import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { HostMemory, OperandVersions } from '../../../src/executor/index.js'
import { zeros } from '../stub_tensor.js'

describe('OperandVersions', () => {
  it('names the operand that was overwritten since', () => {
    const memory = new HostMemory('float32')
    const [input, params] = [memory.zeros([2]), memory.zeros([3])]
    const versions = new OperandVersions({ input, params, inputH: null, inputC: undefined, host: zeros(1) })
    versions.check()
    params.version++
    expect(() => versions.check()).toThrow(
      coded('ERR_TAPE_STALE', { message: expect.stringContaining('params must be as the forward left it') }),
    )
  })

  it('compares with the version at the time of note()', () => {
    const memory = new HostMemory('float32')
    const output = memory.zeros([2])
    output.version = 5
    const versions = new OperandVersions({})
    versions.note('output', output)
    versions.check()
    output.version--
    expect(() => versions.check()).toThrow(coded('ERR_TAPE_STALE'))
  })
})
