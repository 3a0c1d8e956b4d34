import { describe, expect, it } from 'vitest'
import { isBackendTensor } from '../../src/index.js'

const read = async () => ({ data: new Float32Array(1), shape: [1] })

describe('isBackendTensor', () => {
  it('detects a tensor of any executor by its read()', () => {
    class Tensor {
      read = read
    }
    expect([{ read }, new Tensor(), Object.create({ read })].map(isBackendTensor)).toEqual([true, true, true])
  })

  it.each([
    { data: new Float32Array(1), shape: [1] },
    { read: 'yes' },
    {},
    null,
    undefined,
    3,
    'read',
    () => read,
    new Float32Array(1),
  ])('takes %o for none', (value) => {
    expect(isBackendTensor(value)).toBe(false)
  })

  it('takes an object that cannot be read for none', () => {
    const fail = () => {
      throw new Error('no')
    }
    expect(isBackendTensor(new Proxy({}, { has: fail }))).toBe(false)
    expect(isBackendTensor(Object.defineProperty({}, 'read', { get: fail }))).toBe(false)
  })
})
