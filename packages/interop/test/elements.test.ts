import { checkArguments } from '@cudnn-rnn/canonical/rules'
import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { checkedCount, decodeElements, type ElementTypeName } from '../src/elements.js'
import { FLOAT_TENSOR } from '../src/float_tensor.js'
import { groupTensors, readGroups } from '../src/networks/tensor_groups.js'
import type { StoredTensor } from '../src/stored_tensor.js'

const little = (...words: number[]) => littleEndianBytes(Uint16Array.from(words))

describe('decodeElements', () => {
  it.each<[ElementTypeName, Uint8Array, number[]]>([
    // 1, -2, the smallest subnormal, the largest number, infinity.
    ['float16', little(0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00), [1, -2, 2 ** -24, 65_504, Number.POSITIVE_INFINITY]],
    ['bfloat16', little(0x3f80, 0xc000, 0x4049, 0xff80), [1, -2, 3.140625, Number.NEGATIVE_INFINITY]],
    ['float32', littleEndianBytes(Float32Array.of(0.5, -3)), [0.5, -3]],
    ['float64', littleEndianBytes(Float64Array.of(0.1, -3)), [0.1, -3]],
  ])('reads %s, at any offset in its file', (type, bytes, expected) => {
    const values = decodeElements('f', 'w', type, bytes)
    expect([...values]).toEqual(expected)
    expect(values).toBeInstanceOf(type === 'float64' ? Float64Array : Float32Array)
    for (const offset of [1, 2, 3]) {
      const file = new Uint8Array(bytes.length + offset)
      file.set(bytes, offset)
      expect(decodeElements('f', 'w', type, file.subarray(offset))).toEqual(values)
    }
  })

  it('keeps NaN, and reads no elements of no bytes', () => {
    expect([...decodeElements('f', 'w', 'float16', little(0x7e00))]).toEqual([Number.NaN])
    expect(decodeElements('f', 'w', 'float32', new Uint8Array(0))).toHaveLength(0)
  })

  it.each(['int8', 'uint16', 'int64', 'bool'] as const)('refuses %s, which are not weights', (type) => {
    expect(() => decodeElements('f', 'w', type, new Uint8Array(8))).toThrow(
      coded('ERR_WEIGHTS_UNSUPPORTED', { path: 'f' }),
    )
  })

  it.each([
    ['float16', 3],
    ['float32', 6],
    ['float64', 12],
  ] as const)('refuses %s in %i bytes', (type, bytes) => {
    expect(() => decodeElements('f', 'w', type, new Uint8Array(bytes))).toThrow(coded('ERR_WEIGHTS_CORRUPT'))
  })
})

describe('checkedCount', () => {
  it.each([
    [[], 1],
    [[2, 3], 6],
    [[0, 2 ** 40], 0],
  ])('of shape %o is %i', (shape, count) => {
    expect(checkedCount('f', 'w', shape, 6)).toBe(count)
  })

  it.each([[[7]], [[2 ** 30, 2 ** 30]], [[-1, -6]], [[1.5, 2]], [[Number.NaN]], [[2 ** 53]]])(
    'refuses shape %o where there is room for 6',
    (shape) => {
      expect(() => checkedCount('f', 'w', shape, 6)).toThrow(coded('ERR_WEIGHTS_CORRUPT'))
    },
  )
})

describe('FLOAT_TENSOR', () => {
  const check = (value: unknown) => checkArguments('read', { value }, { value: FLOAT_TENSOR })
  it('takes float arrays with as many elements as the shape has', () => {
    expect(() => check({ data: new Float32Array(6), shape: [2, 3] })).not.toThrow()
    expect(() => check({ data: new Float64Array(1), shape: [] })).not.toThrow()
    expect(() => check({ data: new Float32Array(0), shape: [0, 5] })).not.toThrow()
  })

  it.each<[string, unknown]>([
    ['null', null],
    ['numbers', [1, 2]],
    ['integers', { data: new Int32Array(2), shape: [2] }],
    ['too few elements', { data: new Float32Array(1), shape: [2] }],
    ['too many', { data: new Float32Array(3), shape: [2] }],
    ['a negative size', { data: new Float32Array(2), shape: [-1, -2] }],
    ['no shape', { data: new Float32Array(2) }],
    ['a shape that is not an array', { data: new Float32Array(2), shape: 2 }],
    ['half a size', { data: new Float32Array(3), shape: [1.5, 2] }],
  ])('refuses %s', (_, value) => {
    expect(() => check(value)).toThrow(coded('ERR_INVALID_ARGUMENT', { argument: 'value' }))
  })
})

const stored = (name: string, values: Float32Array | Float64Array, dtype = 'float32'): StoredTensor => ({
  name,
  shape: [values.length],
  dtype,
  read: async () => values,
})

describe('groupTensors and readGroups', () => {
  it('collect tensors of one prefix, in the order of their first, and leave others out', () => {
    const tensors = ['b.w', 'a.w', 'other', 'b.v'].map((name) => stored(name, Float32Array.of(1)))
    const groups = groupTensors(tensors, (name) => {
      const [prefix = '', own] = name.split('.')
      return own === undefined ? undefined : [prefix, own]
    })
    expect(groups.map(({ prefix, tensors: own }) => [prefix, [...own.keys()]])).toEqual([
      ['b', ['w', 'v']],
      ['a', ['w']],
    ])
  })

  it('are double where every tensor is, and single where one is not', async () => {
    const double = new Map([['w', stored('w', Float64Array.of(0.1))]])
    const single = new Map([['w', stored('w', Float32Array.of(0.5))]])
    expect(await readGroups([double, double])).toEqual([
      { w: { data: Float64Array.of(0.1), shape: [1] } },
      { w: { data: Float64Array.of(0.1), shape: [1] } },
    ])
    expect(await readGroups([double, single])).toEqual([
      { w: { data: Float32Array.of(0.1), shape: [1] } },
      { w: { data: Float32Array.of(0.5), shape: [1] } },
    ])
  })
})
