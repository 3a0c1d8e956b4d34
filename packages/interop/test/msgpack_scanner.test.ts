import { memorySource } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { MsgpackScanner } from '../src/files/msgpack_scanner.js'

const corrupt = coded('ERR_WEIGHTS_CORRUPT')
const scannerOf = (...bytes: readonly number[]) => new MsgpackScanner(memorySource('model', Uint8Array.from(bytes)))
const zeros = (length: number) => new Array<number>(length).fill(0)

// Each first byte of the specification, its smallest and largest value if they matter.
const HEADERS: readonly (readonly [string, readonly number[], object])[] = [
  ['positive fixint', [0x7f], { kind: 'integer', start: 1, end: 1, value: 127 }],
  ['fixmap', [0x82], { kind: 'map', start: 1, count: 2 }],
  ['fixarray', [0x9f], { kind: 'array', start: 1, count: 15 }],
  ['fixstr', [0xbf, ...zeros(31)], { kind: 'text', start: 1, end: 32 }],
  ['nil', [0xc0], { kind: 'other', start: 1, end: 1 }],
  ['false', [0xc2], { kind: 'other', start: 1, end: 1 }],
  ['true', [0xc3], { kind: 'other', start: 1, end: 1 }],
  ['bin 8', [0xc4, 2, 0, 0], { kind: 'binary', start: 2, end: 4 }],
  ['bin 16', [0xc5, 0, 2, 0, 0], { kind: 'binary', start: 3, end: 5 }],
  ['bin 32', [0xc6, 0, 0, 0, 2, 0, 0], { kind: 'binary', start: 5, end: 7 }],
  ['ext 8', [0xc7, 2, 9, 0, 0], { kind: 'extension', type: 9, start: 3, end: 5 }],
  ['ext 16', [0xc8, 0, 2, 9, 0, 0], { kind: 'extension', type: 9, start: 4, end: 6 }],
  ['ext 32', [0xc9, 0, 0, 0, 2, 9, 0, 0], { kind: 'extension', type: 9, start: 6, end: 8 }],
  ['float 32', [0xca, ...zeros(4)], { kind: 'other', start: 1, end: 5 }],
  ['float 64', [0xcb, ...zeros(8)], { kind: 'other', start: 1, end: 9 }],
  ['uint 8', [0xcc, 0xff], { kind: 'integer', start: 1, end: 2, value: 255 }],
  ['uint 16', [0xcd, 1, 2], { kind: 'integer', start: 1, end: 3, value: 258 }],
  ['uint 32', [0xce, 0xff, 0xff, 0xff, 0xff], { kind: 'integer', start: 1, end: 5, value: 2 ** 32 - 1 }],
  ['uint 64', [0xcf, 0, 0, 0, 1, 0, 0, 0, 2], { kind: 'integer', start: 1, end: 9, value: 2 ** 32 + 2 }],
  ['int 8', [0xd0, 0], { kind: 'other', start: 1, end: 2 }],
  ['int 16', [0xd1, 0, 0], { kind: 'other', start: 1, end: 3 }],
  ['int 32', [0xd2, ...zeros(4)], { kind: 'other', start: 1, end: 5 }],
  ['int 64', [0xd3, ...zeros(8)], { kind: 'other', start: 1, end: 9 }],
  ['fixext 1', [0xd4, 7, 0], { kind: 'extension', type: 7, start: 2, end: 3 }],
  ['fixext 2', [0xd5, 7, ...zeros(2)], { kind: 'extension', type: 7, start: 2, end: 4 }],
  ['fixext 4', [0xd6, 7, ...zeros(4)], { kind: 'extension', type: 7, start: 2, end: 6 }],
  ['fixext 8', [0xd7, 7, ...zeros(8)], { kind: 'extension', type: 7, start: 2, end: 10 }],
  ['fixext 16', [0xd8, 7, ...zeros(16)], { kind: 'extension', type: 7, start: 2, end: 18 }],
  ['str 8', [0xd9, 1, 65], { kind: 'text', start: 2, end: 3 }],
  ['str 16', [0xda, 0, 1, 65], { kind: 'text', start: 3, end: 4 }],
  ['str 32', [0xdb, 0, 0, 0, 1, 65], { kind: 'text', start: 5, end: 6 }],
  ['array 16', [0xdc, 1, 0], { kind: 'array', start: 3, count: 256 }],
  ['array 32', [0xdd, 1, 0, 0, 0], { kind: 'array', start: 5, count: 2 ** 24 }],
  ['map 16', [0xde, 1, 0], { kind: 'map', start: 3, count: 256 }],
  ['map 32', [0xdf, 0xff, 0xff, 0xff, 0xff], { kind: 'map', start: 5, count: 2 ** 32 - 1 }],
  ['negative fixint', [0xe0], { kind: 'integer', start: 1, end: 1, value: -32 }],
]

describe('MsgpackScanner', () => {
  it.each(HEADERS)('reads the header of %s, and refuses any part of the value', async (_, bytes, expected) => {
    expect(await scannerOf(...bytes).header(0)).toEqual(expected)
    for (let length = 0; length < bytes.length; length++) {
      await expect(scannerOf(...bytes.slice(0, length)).header(0), `${length} bytes`).rejects.toThrow(corrupt)
    }
  })

  it('reads a header behind others', async () => {
    expect(await scannerOf(0x92, 1, 0xcd, 1, 2).header(2)).toEqual({ kind: 'integer', start: 3, end: 5, value: 258 })
  })

  it('refuses the byte that the specification never uses, and a position behind the file', async () => {
    await expect(scannerOf(0xc1).header(0)).rejects.toThrow(corrupt)
    await expect(scannerOf(1).header(9)).rejects.toThrow()
  })

  it('reads the text of a header, and refuses one longer than any name', async () => {
    const scanner = scannerOf(0xa3, 0x61, 0xc3, 0xa9)
    expect(await scanner.text({ start: 1, end: 4 })).toBe('aé')
    expect(await scanner.text({ start: 1, end: 1 })).toBe('')
    await expect(scanner.text({ start: 0, end: 65_537 })).rejects.toThrow(corrupt)
  })
})
