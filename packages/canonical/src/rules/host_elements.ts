import { codedTypeError } from './coded_error.js'

// Callers can override an array's own properties; these functions read the engine's internal slots.
const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype) as object
const getterOf = (name: PropertyKey) => Object.getOwnPropertyDescriptor(TYPED_ARRAY, name)?.get as () => unknown
const typeName = getterOf(Symbol.toStringTag)
const length = getterOf('length')
const buffer = getterOf('buffer')
const byteOffset = getterOf('byteOffset')

// A function for each getter: engines compile a call of one known getter without the call.
const lengthOf = (array: unknown) => length.call(array) as number
const bufferOf = (array: ArrayBufferView) => buffer.call(array) as ArrayBufferLike
const byteOffsetOf = (array: ArrayBufferView) => byteOffset.call(array) as number

/** "Float32Array" and so on, also for a subclass; undefined for anything but a typed array. */
export function arrayTypeOf(value: unknown): string | undefined {
  return typeName.call(value) as string | undefined
}

/** Whether a value is a Float32Array or Float64Array, of this realm or of another, such as a context of `node:vm`. */
export function isFloatArray(value: unknown): value is Float32Array | Float64Array {
  const type = arrayTypeOf(value)
  return type === 'Float32Array' || type === 'Float64Array'
}

/** As {@link isFloatArray}. */
export function isBytes(value: unknown): value is Uint8Array {
  return arrayTypeOf(value) === 'Uint8Array'
}

/**
 * Elements a typed array has at this moment: 0 once its buffer was transferred, or shrank to less than the array.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT` for anything but a typed array
 */
export function liveLength(array: ArrayBufferView): number {
  if (arrayTypeOf(array) !== undefined) return lengthOf(array)
  throw codedTypeError(
    'ERR_INVALID_ARGUMENT',
    `Cannot count elements as the value must be a typed array: current type is ${typeof array}`,
  )
}

interface ArrayConstructor<Elements> {
  new (length: number): Elements
  new (array: Elements): Elements
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): Elements
}

/**
 * A view of the elements that `array` has now, of the built-in type, so that no subclass, overridden method or growing
 * buffer matters to the next reader. Elements that other threads may write are copied.
 */
export function ownView<Elements extends ArrayBufferView>(
  array: Elements,
  ArrayOf: ArrayConstructor<Elements>,
): Elements {
  const length = liveLength(array)
  if (typeof ArrayOf !== 'function' || ArrayOf.prototype?.constructor?.name !== arrayTypeOf(array)) {
    throw codedTypeError(
      'ERR_INVALID_ARGUMENT',
      `Cannot view elements as ArrayOf must be the constructor of a ${arrayTypeOf(array)}: current type is ${typeof ArrayOf}`,
    )
  }
  if (length === 0) return new ArrayOf(0)
  const buffer = bufferOf(array)
  const view = new ArrayOf(buffer, byteOffsetOf(array), length)
  return isShared(buffer) ? new ArrayOf(view) : view
}

/** Zeros of the type of `like`, float64 or float32. */
export function zerosLike<Floats extends Float32Array | Float64Array>(
  like: Floats | undefined,
  length: number,
): Floats {
  return (like instanceof Float64Array ? new Float64Array(length) : new Float32Array(length)) as Floats
}

/** Whether a buffer of elements that once had some has none any more. */
export function wasTransferred(array: ArrayBufferView): boolean {
  return liveLength(array) === 0 && bufferOf(array).byteLength === 0
}

function isShared(buffer: ArrayBufferLike): boolean {
  return Object.prototype.toString.call(buffer) === '[object SharedArrayBuffer]'
}
