import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { allocating, floatView, HostMemory, sharedAllocator } from '../../../src/executor/index.js'

/** Larger than any engine's array. */
const ENDLESS = 2 ** 52

describe('allocating', () => {
  it('returns the allocated value', () => {
    expect(allocating('read', () => new Float32Array(2)).length).toBe(2)
  })

  it.each<[string, () => object]>([
    ['an array', () => new Float64Array(ENDLESS)],
    ['a buffer', () => new ArrayBuffer(ENDLESS)],
    ['a shared buffer', () => new SharedArrayBuffer(ENDLESS)],
  ])("turns the engine's refusal of %s into ERR_OUT_OF_MEMORY", (_, allocate) => {
    expect(() => allocating('read tensor', allocate, 123)).toThrow(
      coded('ERR_OUT_OF_MEMORY', {
        name: 'RangeError',
        message: expect.stringMatching(/^Cannot read tensor as 123 bytes are more than this process can have\./),
        requestedBytes: 123,
        cause: expect.any(RangeError),
      }),
    )
  })

  it.each([
    new TypeError('out of memory'),
    new RangeError('Invalid count value: -1'),
    Object.assign(new RangeError('too large'), { code: 'ERR_SHAPE' }),
  ])('passes %o on', (error) => {
    const allocate = () => {
      throw error
    }
    expect(() => allocating('read tensor', allocate)).toThrow(error)
  })
})

describe('HostMemory.allocate', () => {
  it.each(['float32', 'float64'] as const)('names the bytes of %s that are too many', (dtype) => {
    const requestedBytes = ENDLESS * (dtype === 'float32' ? 4 : 8)
    const memory = new HostMemory(dtype)
    for (const allocate of [memory.allocate, memory.allocateShared])
      expect(() => allocate(ENDLESS)).toThrow(coded('ERR_OUT_OF_MEMORY', { requestedBytes }))
    expect(memory.ledger.snapshot()).toMatchObject({ tensors: 0, bytes: 0 })
  })

  it('requests arrays at addresses that the executor chooses', () => {
    const own = new Float32Array(3)
    const memory = new HostMemory('float32', undefined, { own: () => own, shared: sharedAllocator('float32') })
    expect(memory.zeros([3]).live).toBe(own)
  })
})

describe('sharedAllocator and floatView', () => {
  it('make arrays of the dtype over memory that threads share', () => {
    const shared = sharedAllocator('float64')(3)
    expect(shared).toEqual(new Float64Array(3))
    expect(shared.buffer).toBeInstanceOf(SharedArrayBuffer)
    const view = floatView('float64', shared.buffer, 8, 2)
    view[0] = 5
    expect([...shared]).toEqual([0, 5, 0])
  })
})
