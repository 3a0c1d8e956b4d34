import { memorySource } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { safetensorsBytes } from '../fuzz/safetensors_bytes.js'
import { encodeSafetensors, openSafetensors } from '../src/files/safetensors_reader.js'

const open = (bytes: Uint8Array) => openSafetensors(memorySource('weights', bytes))
const entry = (dtype: string, shape: readonly unknown[], begin: number, end: number) =>
  JSON.stringify({ dtype, shape, data_offsets: [begin, end] })
const refusal = (code: string, message: string) => coded(code, { message: expect.stringContaining(message) })

/** The elements of the one tensor of a file. */
async function elementsOf(dtype: string, bytes: readonly number[], count: number) {
  const header = `{"a":${entry(dtype, [count], 0, bytes.length)}}`
  const file = safetensorsBytes(header, bytes.length)
  file.set(bytes, file.length - bytes.length)
  const { tensors } = await open(file)
  return tensors[0]!.read()
}

describe('openSafetensors', () => {
  it.each([
    ['F64', [0, 0, 0, 0, 0, 0, 0xf8, 0x3f], Float64Array.of(1.5)],
    ['F32', [0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80], Float32Array.of(1.5, -0)],
    ['F16', [0, 0x3e, 1, 0], Float32Array.of(1.5, 2 ** -24)],
    ['BF16', [0xc0, 0x3f, 0x80, 0xff], Float32Array.of(1.5, Number.NEGATIVE_INFINITY)],
    ['F32', [], new Float32Array(0)],
  ])('reads %s of the bytes %j', async (dtype, bytes, expected) => {
    expect(await elementsOf(dtype, bytes, expected.length)).toEqual(expected)
  })

  it.each(['I64', 'I32', 'I16', 'I8', 'U8', 'BOOL', 'F8_E4M3'])(
    'lists tensors of %s, whose elements are not weights',
    async (dtype) => {
      await expect(elementsOf(dtype, new Array(8).fill(0), { I64: 1, I32: 2, I16: 4 }[dtype] ?? 8)).rejects.toThrow(
        coded('ERR_WEIGHTS_UNSUPPORTED'),
      )
    },
  )

  it('lists the tensors in the order of the header, without its metadata', async () => {
    const header = `{"__metadata__":{"format":"pt"},"b":${entry('F32', [2], 4, 12)},"a":${entry('F32', [], 0, 4)}}`
    const file = await open(safetensorsBytes(header, 12))
    expect(file).toMatchObject({ format: 'safetensors', path: 'weights' })
    expect(file.tensors.map(({ name, shape, dtype }) => [name, shape, dtype])).toEqual([
      ['b', [2], 'F32'],
      ['a', [], 'F32'],
    ])
  })

  it('reads what encodeSafetensors wrote: names of any characters, both precisions, empty tensors', async () => {
    const tensors = {
      'é/"kernel"': { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] },
      empty: { data: new Float32Array(0), shape: [0, 4] },
      double: { data: Float64Array.of(Math.PI), shape: [] },
    }
    const bytes = encodeSafetensors(tensors)
    const file = await open(bytes)
    const read = await Promise.all(
      file.tensors.map(async ({ name, shape, read }) => [name, { data: await read(), shape }] as const),
    )
    expect(Object.fromEntries(read)).toEqual(tensors)
    // The reference implementation begins the elements at a multiple of eight, and so can views of float64.
    expect(Number(new DataView(bytes.buffer).getBigUint64(0, true)) % 8).toBe(0)
  })

  it('reads no elements before they are requested, and closes its source', async () => {
    const source = memorySource('weights', safetensorsBytes(`{"a":${entry('F32', [2], 0, 8)}}`, 8))
    const reads: (readonly [number, number])[] = []
    let closed = 0
    const file = await openSafetensors({
      ...source,
      read: (offset, length) => {
        reads.push([offset, length])
        return source.read(offset, length)
      },
      close: async () => void closed++,
    })
    const headerEnd = source.size - 8
    expect(reads).toEqual([
      [0, 8],
      [8, headerEnd - 8],
    ])
    await file.tensors[0]!.read()
    expect(reads[2]).toEqual([headerEnd, 8])
    await file.close()
    expect(closed).toBe(1)
  })

  it.each([
    ['a file of seven bytes', new Uint8Array(7), 'it has no header'],
    ['a header beyond the end', new Uint8Array(8).fill(0xff), `its header of ${2n ** 64n - 1n} bytes does not fit`],
    ['a header that is a list', safetensorsBytes('[]'), 'its header is not an object'],
    ['a header that is null', safetensorsBytes('null'), 'its header is not an object'],
    ['a header that is cut', safetensorsBytes('{"a":'), 'its header is not JSON'],
    ['an entry that is null', safetensorsBytes('{"a":null}'), "the header's entry of a is not a tensor"],
    ['a dtype that is a number', safetensorsBytes('{"a":{"dtype":1,"shape":[],"data_offsets":[0,0]}}'), 'entry of a'],
    ['one offset', safetensorsBytes('{"a":{"dtype":"F32","shape":[],"data_offsets":[0]}}'), 'entry of a'],
    ['a size that is not an integer', safetensorsBytes(`{"a":${entry('F32', [0.5], 0, 2)}}`, 2), 'entry of a'],
    ['a size that is a text', safetensorsBytes(`{"a":${entry('F32', ['1'], 0, 4)}}`, 4), 'entry of a'],
    ['an end before the begin', safetensorsBytes(`{"a":${entry('F32', [1], 4, 0)}}`, 4), 'a is at 4..0 of 4 bytes'],
    ['a negative begin', safetensorsBytes(`{"a":${entry('F32', [1], -4, 0)}}`, 4), 'a is at -4..0'],
    [
      'more bytes than the shape',
      safetensorsBytes(`{"a":${entry('F32', [1], 0, 8)}}`, 8),
      'a of shape [1] has 8 bytes',
    ],
    ['fewer bytes than the shape', safetensorsBytes(`{"a":${entry('F64', [1], 0, 4)}}`, 4), 'a cannot have shape [1]'],
  ])('refuses %s', async (_, bytes, message) => {
    await expect(open(bytes)).rejects.toThrow(refusal('ERR_WEIGHTS_CORRUPT', message))
  })
})
