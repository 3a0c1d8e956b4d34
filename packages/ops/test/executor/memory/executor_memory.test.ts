import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { HostMemory, ownTensor } from '../../../src/executor/index.js'
import { checkOwnTensor, writableTensor } from '../../../src/executor/memory/executor_memory.js'
import { stubTensor, zeros } from '../stub_tensor.js'

const open = () => {
  const memory = new HostMemory('float32')
  const shared = memory.shared(memory.allocateShared(2), { shape: [2], layout: undefined, id: 'weights' })
  return { memory, own: memory.zeros([2]), shared }
}

describe('ownTensor', () => {
  it('is the tensor itself, shared ones included', () => {
    const { memory, own, shared } = open()
    expect(ownTensor(memory, 'clip', 'variable', own)).toBe(own)
    expect(ownTensor(memory, 'clip', 'variable', shared)).toBe(shared)
  })

  it('refuses a host tensor with the way to make one of the executor', () => {
    const { memory } = open()
    expect(() => ownTensor(memory, 'clip', 'variable', zeros(2))).toThrow(
      coded('ERR_NOT_A_TENSOR', {
        name: 'TypeError',
        argument: 'variable',
        message: expect.stringMatching(
          /^Cannot clip as variable must be a tensor of the executor: .* Make one with backend\.tensor\(\)\.$/,
        ),
      }),
    )
  })

  it.each([
    ['of another memory', new HostMemory('float32').zeros([2])],
    ['of another executor', stubTensor([2])],
  ])('refuses a tensor %s', (_, tensor) => {
    const { memory } = open()
    const refusal = coded('ERR_FOREIGN_TENSOR', { name: 'TypeError', argument: 'variable' })
    expect(() => ownTensor(memory, 'clip', 'variable', tensor)).toThrow(refusal)
  })
})

describe('writableTensor', () => {
  it('is an own tensor, but not one that other threads read', () => {
    const { memory, own, shared } = open()
    expect(writableTensor(memory, 'clip', 'variable', own)).toBe(own)
    expect(() => writableTensor(memory, 'clip', 'variable', shared)).toThrow(
      coded('ERR_SHARED_TENSOR', { name: 'RangeError', argument: 'variable' }),
    )
    expect(() => writableTensor(memory, 'clip', 'variable', zeros(2))).toThrow(coded('ERR_NOT_A_TENSOR'))
  })
})

describe('checkOwnTensor', () => {
  it('passes host tensors, absent ones and values of any other kind to later checks', () => {
    const { memory, own } = open()
    for (const operand of [own, zeros(2), null, undefined, 3]) {
      expect(() => checkOwnTensor(memory, 'add', 'a', operand as never)).not.toThrow()
    }
    const copy = Object.create(own)
    expect(() => checkOwnTensor(memory, 'add', 'a', copy)).toThrow(coded('ERR_FOREIGN_TENSOR', { argument: 'a' }))
  })
})
