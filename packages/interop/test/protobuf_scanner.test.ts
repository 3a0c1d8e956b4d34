import { WireType } from '@bufbuild/protobuf/wire'
import { memorySource } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { type ProtobufField, ProtobufScanner } from '../src/files/protobuf_scanner.js'

const corrupt = coded('ERR_WEIGHTS_CORRUPT')
const scannerOf = (bytes: readonly number[]) => new ProtobufScanner(memorySource('model', Uint8Array.from(bytes)))

/** The fields 1 to 15 of a message, in order. */
async function fieldsOf(bytes: readonly number[], end = bytes.length) {
  const found: (readonly [number: number, field: ProtobufField])[] = []
  const visitor = (number: number) => (field: ProtobufField) => void found.push([number, field])
  const rows = Array.from(
    { length: 15 },
    (_, index) => [`field ${index + 1}`, [index + 1, visitor(index + 1)]] as const,
  )
  await scannerOf(bytes).message({ start: 0, end }, Object.fromEntries(rows))
  return found
}

describe('ProtobufScanner', () => {
  it('finds the payload of every wire type', async () => {
    const bytes = [0x08, 0x96, 0x01, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1a, 2, 0x68, 0x69, 0x25, 1, 2, 3, 4]
    expect(await fieldsOf(bytes)).toEqual([
      [1, { wireType: 0, start: 1, end: 3 }],
      [2, { wireType: 1, start: 4, end: 12 }],
      [3, { wireType: 2, start: 14, end: 16 }],
      [4, { wireType: 5, start: 17, end: 21 }],
    ])
  })

  it('skips fields without a row, and reads an empty message', async () => {
    expect(await fieldsOf([0x82, 0x01, 1, 0, 0x0a, 0])).toEqual([[1, { wireType: 2, start: 6, end: 6 }]])
    expect(await fieldsOf([])).toEqual([])
  })

  it.each([
    ['a varint without an end', [0x08, 0x80]],
    ['a fixed number that is cut', [0x25, 1, 2, 3]],
    ['a length behind the message', [0x0a, 3, 1, 2]],
    ['a length of 4 GiB', [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]],
    ['a length of 2 GiB, which is negative as int32', [0x0a, 0x80, 0x80, 0x80, 0x80, 0x08]],
    ['a length of 64 bits', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ['a length alone', [0x0a]],
    ['field number 0', [0x00, 1]],
    ['the start of a group', [0x0b]],
    ['the end of a group', [0x0c]],
    ['wire type 6', [0x0e, 1]],
    ['wire type 7', [0x0f, 1]],
  ])('refuses %s', async (_, bytes) => {
    await expect(fieldsOf(bytes)).rejects.toThrow(corrupt)
  })

  it('refuses a field that is longer than its message, though not than the file', async () => {
    await expect(fieldsOf([0x0a, 2, 1, 2], 3)).rejects.toThrow(corrupt)
  })

  it('passes errors of readers that have a code', async () => {
    const error = Object.assign(new Error('own'), { code: 'ERR_WEIGHTS_UNSUPPORTED' })
    const throwing = () => {
      throw error
    }
    await expect(scannerOf([0x08, 1]).message({ start: 0, end: 2 }, { own: [1, throwing] })).rejects.toBe(error)
  })

  it('reads numbers and texts of fields, beyond its window too', async () => {
    const far = 70_000
    const long = [0x0a, ...varint(far), ...new Array<number>(far).fill(1), 0x12, 2, 0x68, 0x69, 0x18, 0x96, 0x01]
    const scanner = scannerOf(long)
    const found = await scanner.message(
      { start: 0, end: long.length },
      {
        text: [2, (field) => scanner.text(field)],
        number: [3, (field) => scanner.number(field, WireType.Varint, (reader) => reader.int32())],
      },
    )
    expect(found).toEqual({ text: 'hi', number: 150 })
    const fixed: ProtobufField = { wireType: WireType.Bit32, start: 0, end: 4 }
    await expect(scanner.number(fixed, WireType.Varint, (reader) => reader.int32())).rejects.toThrow(corrupt)
  })

  it('refuses a text longer than any name', async () => {
    const scanner = scannerOf([0x0a, 0])
    await expect(scanner.text({ wireType: 2, start: 0, end: 65_537 })).rejects.toThrow(corrupt)
  })
})

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))]
}
