import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { blobSource, memorySource } from '../../src/store/byte_source.js'

const BYTES = Uint8Array.of(0, 1, 2, 3, 4, 5)

describe.each([
  ['memorySource', () => memorySource('file', BYTES.subarray(1, 5))],
  ['blobSource', () => blobSource('file', new Blob([BYTES.slice(1, 5)]))],
])('%s', (_, open) => {
  it('reads ranges of its bytes', async () => {
    const source = open()
    expect([source.name, source.size]).toEqual(['file', 4])
    expect(await source.read(0, 4)).toEqual(Uint8Array.of(1, 2, 3, 4))
    expect(await source.read(1, 2)).toEqual(Uint8Array.of(2, 3))
    expect(await source.read(4, 0)).toEqual(new Uint8Array())
    expect(await source.close()).toBeUndefined()
  })

  it.each([
    [0, 5],
    [4, 1],
    [5, 0],
    [-1, 1],
    [0, -1],
    [Number.NaN, 1],
    [0, Number.POSITIVE_INFINITY],
    [2 ** 53, 1],
  ])('refuses offset %d and length %d', async (offset, length) => {
    await expect(open().read(offset, length)).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT', { path: 'file' }))
  })

  it('refuses a range that is not of numbers', async () => {
    await expect(open().read('0' as never, 1)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
    await expect(open().read(0, 1n as never)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it.each([
    [0.5, 1],
    [0, 1.5],
  ])('refuses offset %d and length %d, which are not whole', async (offset, length) => {
    await expect(open().read(offset, length)).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })
})

it('sources are made of a name and bytes or a blob alone', () => {
  const invalid = coded('ERR_INVALID_ARGUMENT')
  expect(() => memorySource('file', [1, 2] as never)).toThrow(invalid)
  expect(() => memorySource(1 as never, BYTES)).toThrow(invalid)
  expect(() => blobSource('file', BYTES as never)).toThrow(invalid)
})
