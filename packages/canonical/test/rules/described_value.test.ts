import { describe, expect, it } from 'vitest'
import { describeValue, thrownMessage } from '../../src/rules/index.js'

const unreadable = new Proxy(
  {},
  {
    ownKeys() {
      throw new Error('no')
    },
    getPrototypeOf() {
      throw new Error('no')
    },
  },
)
const revoked = (() => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
})()

describe('describeValue', () => {
  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [-0.5, '-0.5'],
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    [12n, '12n'],
    [Symbol('s'), 'Symbol(s)'],
    ['adam', '"adam"'],
    ['3', '"3"'],
    ['', 'an empty string'],
    [() => 1, 'a function'],
    [class Backend {}, 'a function'],
    [[], 'an array of 0'],
    [new Array(3), 'an array of 3'],
    [new Float32Array(6), 'a Float32Array of 6 elements'],
    [new (class Weights extends Float64Array {})(2), 'a Float64Array of 2 elements'],
    [new (class Bytes extends Uint8Array {})(3), 'a Uint8Array of 3 elements'],
    [new ArrayBuffer(8), 'an ArrayBuffer'],
    [new Date(Number.NaN), 'a Date'],
    [new Map(), 'a Map'],
    [new Set([1]), 'a Set'],
    [Promise.resolve(), 'a promise: await it first'],
    [new (class Weights {})(), 'a Weights'],
    [Object.assign(new (class _Order {})(), { rank: 1 }), 'an Order with the fields rank'],
    [new (class a {})(), 'an object without fields'],
    [{}, 'an object without fields'],
    [Object.create(null), 'an object without fields'],
    [{ data: 1, shape: 2 }, 'an object with the fields data, shape'],
  ])('%#: %s', (value, expected) => {
    expect(describeValue(value)).toBe(expected)
  })

  it('accepts objects that cannot be read', () => {
    expect(describeValue(unreadable)).toBe('an object that cannot be read')
    expect(describeValue(revoked)).toBe('an object that cannot be read')
  })

  it('names eight fields at the most', () => {
    const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, k) => [`f${k}`, k]))
    expect(describeValue(fields(8))).toBe('an object with the fields f0, f1, f2, f3, f4, f5, f6, f7')
    expect(describeValue(fields(9))).toBe('an object with the fields f0, f1, f2, f3, f4, f5, f6, f7, …')
  })

  it('calls no function of the value', () => {
    const trap = () => {
      throw new Error('called')
    }
    expect(describeValue({ toString: trap, toJSON: trap, [Symbol.toPrimitive]: trap })).toBe(
      'an object with the fields toString, toJSON',
    )
    const getter = Object.defineProperty({}, 'shape', { enumerable: true, get: trap })
    expect(describeValue(getter)).toBe('an object with the fields shape')
  })

  it('cuts a text after 80 characters and escapes line breaks', () => {
    expect(describeValue('x'.repeat(80))).toBe(`"${'x'.repeat(80)}"`)
    expect(describeValue('x'.repeat(81))).toBe(`"${'x'.repeat(80)}"…`)
    expect(describeValue('a\nb\u0000"')).toBe('"a\\nb\\u0000\\""')
  })

  it('counts the elements an array has now', () => {
    const data = new Float32Array(4)
    structuredClone(data, { transfer: [data.buffer] })
    expect(describeValue(data)).toBe('a Float32Array of 0 elements')
  })
})

describe('thrownMessage', () => {
  const getter = Object.defineProperty(new Error('first'), 'message', {
    get() {
      throw new Error('no')
    },
  })
  it.each<[unknown, string]>([
    [new RangeError('3 steps'), '3 steps'],
    ['disk full', 'disk full'],
    [undefined, 'undefined'],
    [Object.create(null), 'an object without fields'],
    [unreadable, 'an object that cannot be read'],
    [getter, 'an Error'],
    [Object.assign(new Error(), { message: Symbol('s') }), 'Symbol(s)'],
  ])('is the message of an error, and a text of anything else: case %#', (thrown, expected) => {
    expect(thrownMessage(thrown)).toBe(expected)
  })
})
