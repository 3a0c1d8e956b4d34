import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { arrayTypeOf, liveLength, ownView, wasTransferred, zerosLike } from '../../src/rules/index.js'

class Weights extends Float32Array {
  override get length(): number {
    return 1e9
  }
  override slice(): never {
    throw new Error('called')
  }
}
Object.defineProperty(Weights.prototype, Symbol.toStringTag, { get: () => 'Int32Array' })
/** A feature of ES2024, which Node.js 20 has and the types of ES2023 lack. */
type ResizableBuffer = ArrayBuffer & { resize(bytes: number): void }
const resizable = (bytes: number, maxByteLength: number) =>
  Reflect.construct(ArrayBuffer, [bytes, { maxByteLength }]) as ResizableBuffer
const transferred = <Elements extends ArrayBufferView>(array: Elements): Elements => {
  structuredClone(array, { transfer: [array.buffer as ArrayBuffer] })
  return array
}

describe('arrayTypeOf', () => {
  it.each<[unknown, string | undefined]>([
    [new Float32Array(1), 'Float32Array'],
    [new Uint8ClampedArray(1), 'Uint8ClampedArray'],
    [new BigInt64Array(1), 'BigInt64Array'],
    [new (class Bytes extends Uint8Array {})(1), 'Uint8Array'],
    [new Weights(1), 'Float32Array'],
    [new DataView(new ArrayBuffer(1)), undefined],
    [{ [Symbol.toStringTag]: 'Float32Array' }, undefined],
    [[1], undefined],
    [null, undefined],
    [undefined, undefined],
    [3, undefined],
  ])('%#: %s', (value, expected) => {
    expect(arrayTypeOf(value)).toBe(expected)
  })

  it('is not deceived by a prototype or a proxy', () => {
    expect(arrayTypeOf(Object.create(Float32Array.prototype))).toBeUndefined()
    expect(arrayTypeOf(new Proxy(new Float32Array(1), {}))).toBeUndefined()
  })
})

describe('liveLength', () => {
  it('is the length that the engine reports, not that of a subclass', () => {
    expect(liveLength(new Weights(3))).toBe(3)
  })

  it('is 0 after a transfer, and follows a buffer that shrinks or grows', () => {
    expect(liveLength(transferred(new Float32Array(3)))).toBe(0)
    const buffer = resizable(16, 32)
    const [fixed, tracking] = [new Float32Array(buffer, 0, 4), new Float32Array(buffer)]
    buffer.resize(32)
    expect([liveLength(fixed), liveLength(tracking)]).toEqual([4, 8])
    buffer.resize(8)
    expect([liveLength(fixed), liveLength(tracking)]).toEqual([0, 2])
  })

  it.each([[[1, 2]], [{ length: 3 }], [null], ['abc'], [new DataView(new ArrayBuffer(4))]])('refuses %o', (value) => {
    expect(() => liveLength(value as never)).toThrow(coded('ERR_INVALID_ARGUMENT', { name: 'TypeError' }))
  })
})

describe('ownView', () => {
  it('is a built-in array over the same memory', () => {
    const given = new Weights([1, 2, 3])
    const view = ownView<Float32Array>(given, Float32Array)
    expect(view.constructor).toBe(Float32Array)
    expect(view).toEqual(Float32Array.of(1, 2, 3))
    view[1] = 7
    expect(given[1]).toBe(7)
  })

  it('starts where the array starts', () => {
    const whole = Float64Array.of(0, 1, 2, 3, 4)
    expect(ownView(whole.subarray(2, 4), Float64Array)).toEqual(Float64Array.of(2, 3))
  })

  it('keeps the length that the array has now, when the buffer grows later', () => {
    const buffer = resizable(8, 16)
    const view = ownView(new Float32Array(buffer), Float32Array)
    buffer.resize(16)
    expect(view.length).toBe(2)
  })

  it('copies elements that other threads may write', () => {
    const shared = new Int32Array(new SharedArrayBuffer(8))
    const view = ownView(shared, Int32Array)
    shared[0] = 5
    expect(view).toEqual(Int32Array.of(0, 0))
    expect(view.buffer).toBeInstanceOf(ArrayBuffer)
  })

  it('is empty after a transfer', () => {
    expect(ownView(transferred(new Float32Array(2)), Float32Array)).toEqual(new Float32Array(0))
  })

  it.each([Int32Array, Float64Array, undefined, {}])(
    'refuses another constructor than the type of the array: %#',
    (ArrayOf) => {
      expect(() => ownView(new Float32Array(2), ArrayOf as never)).toThrow(
        coded('ERR_INVALID_ARGUMENT', { name: 'TypeError' }),
      )
    },
  )
})

describe('zerosLike', () => {
  it('makes zeros of the type of an array, float32 without one', () => {
    expect(zerosLike(Float64Array.of(1), 2)).toEqual(new Float64Array(2))
    expect(zerosLike(Float32Array.of(1), 2)).toEqual(new Float32Array(2))
    expect(zerosLike(undefined, 1)).toEqual(new Float32Array(1))
  })
})

describe('wasTransferred', () => {
  it.each([
    ['a full array', new Float32Array(2), false],
    ['an empty array over elements', new Float32Array(new ArrayBuffer(8), 4, 0), false],
    ['a transferred array', transferred(new Float32Array(2)), true],
  ])('%s', (_, array, expected) => {
    expect(wasTransferred(array)).toBe(expected)
  })
})
