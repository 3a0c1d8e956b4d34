// Values of every kind that a caller can pass by mistake or malice.

/** Thrown by the getters and traps of wrong values: a caller's own error, which the library may pass on as it is. */
export class CallersOwnError extends Error {}

const fail = () => {
  throw new CallersOwnError('thrown by the argument itself')
}

/** Name and maker of each; made for every call, as some are consumed. */
export const WRONG_VALUES = Object.entries({
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  zero: () => 0,
  'a negative number': () => -1,
  'a fraction': () => 0.5,
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  'an unsafe integer': () => 2 ** 60,
  'a bigint': () => 10n,
  'an empty string': () => '',
  'a string': () => 'nonsense',
  'a string with a NUL': () => 'a\0b',
  __proto__: () => '__proto__',
  constructor: () => 'constructor',
  'a long string': () => 'x'.repeat(5000),
  'a symbol': () => Symbol('wrong'),
  'a function': () => () => undefined,
  'a class': () => class {},
  'an empty array': () => [],
  'an array of null': () => [null],
  'an array of numbers': () => [1, 2, 3],
  'an array of arrays': () => [[], [[]]],
  'an array that reports a length of its own': () =>
    new Proxy([], { get: (list, key) => (key === 'length' ? 100_000 : list[key]) }),
  'an empty object': () => ({}),
  'an object without a prototype': () => Object.create(null),
  'an object with a wrong field': () => ({ nonsense: 1 }),
  'an array-like': () => ({ length: 3 }),
  'an iterable': () => new Set([1]),
  'a map': () => new Map(),
  'an invalid date': () => new Date(Number.NaN),
  'a regular expression': () => /x/,
  'a promise': () => Promise.resolve(1),
  'an error': () => new Error('a value'),
  'an empty buffer': () => new ArrayBuffer(0),
  'shared memory': () => new SharedArrayBuffer(8),
  'a DataView': () => new DataView(new ArrayBuffer(8)),
  bytes: () => new Uint8Array(5),
  'a bare Float32Array': () => new Float32Array(3),
  'a Float64Array': () => new Float64Array(2),
  'a detached array': () => {
    const array = new Float32Array(4)
    structuredClone(array.buffer, { transfer: [array.buffer] })
    return array
  },
  'a tensor that does not fill its shape': () => ({ data: new Float32Array(2), shape: [3] }),
  'a tensor of another shape': () => ({ data: new Float32Array(2), shape: [1, 2] }),
  'a tensor of another type': () => ({ data: new Uint16Array(2), shape: [2] }),
  'a tensor of plain numbers': () => ({ data: [1, 2], shape: [2] }),
  'a proxy that refuses': () => new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail }),
  'an object whose text cannot be read': () => ({ toString: fail, [Symbol.toPrimitive]: fail }),
})
