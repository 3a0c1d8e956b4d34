// Values of every kind that a caller can pass by mistake or malice.

/** Thrown by the getters, traps and functions of wrong values: a caller's own error, which the library may pass on as it is. */
export class CallersOwnError extends Error {}

const fail = () => {
  throw new CallersOwnError('thrown by the argument itself')
}

/** A plain object whose fields throw when they are read, under the names that the library reads most. */
const throwingGetters = () =>
  Object.defineProperties(
    {},
    Object.fromEntries(
      ['data', 'shape', 'length', 'name', 'value', 'then', 'descriptor', 'cellMode', 'format', 'read'].map((name) => [
        name,
        { enumerable: true, get: fail },
      ]),
    ),
  )

/** An array in an array, a thousand deep. */
const nested = () => {
  let value = []
  for (let depth = 0; depth < 1000; depth++) value = [value]
  return value
}

/** An object that contains itself. */
const cyclic = () => {
  const value = { name: 'walk', data: new Float32Array(1), shape: [1] }
  value.value = value
  return value
}

const detached = () => {
  const array = new Float32Array(4)
  structuredClone(array.buffer, { transfer: [array.buffer] })
  return array
}

const revoked = (target) => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
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
  'a huge number': () => 1e308,
  'more than 32 bits': () => 2 ** 32,
  'a bigint': () => 10n,
  'an empty string': () => '',
  'a string': () => 'nonsense',
  'a string with a NUL': () => 'a\0b',
  'a string of control characters': () => '\u001b[2J\u202e\ud800',
  __proto__: () => '__proto__',
  constructor: () => 'constructor',
  'a long string': () => 'x'.repeat(5000),
  'a symbol': () => Symbol('wrong'),
  'a function': () => () => undefined,
  'a function that throws': () => fail,
  'an async function that rejects': () => async () => fail(),
  'a class': () => class {},
  'an empty array': () => [],
  'an array with holes': () => new Array(3),
  'an array of null': () => [null],
  'an array of numbers': () => [1, 2, 3],
  'an array of NaN': () => [Number.NaN, -1, 0.5],
  'an array of arrays': () => [[], [[]]],
  'an array of strings': () => ['a', '\0'],
  'an array that nests': nested,
  'an array that reports another length': () =>
    new Proxy([], { get: (list, key) => (key === 'length' ? 100_000 : list[key]) }),
  'an empty object': () => ({}),
  'an object without a prototype': () => Object.create(null),
  'an object with a wrong field': () => ({ nonsense: 1 }),
  'an object that contains itself': cyclic,
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
  'an empty Float32Array': () => new Float32Array(0),
  'a bare Float32Array': () => new Float32Array(3),
  'a Float64Array': () => new Float64Array(2),
  'a BigInt64Array': () => new BigInt64Array(2),
  'a detached array': detached,
  'a tensor that was transferred': () => ({ data: detached(), shape: [4] }),
  'a tensor that does not fill its shape': () => ({ data: new Float32Array(2), shape: [3] }),
  'a tensor of another shape': () => ({ data: new Float32Array(2), shape: [1, 2] }),
  'a tensor of no rank': () => ({ data: new Float32Array(1), shape: [] }),
  'a tensor of no elements': () => ({ data: new Float32Array(0), shape: [0, 0, 0] }),
  'a tensor of another type': () => ({ data: new Uint16Array(2), shape: [2] }),
  'a tensor of plain numbers': () => ({ data: [1, 2], shape: [2] }),
  'a tensor of a nonsensical shape': () => ({ data: new Float32Array(2), shape: [Number.NaN, -1] }),
  'an object with throwing getters': throwingGetters,
  'a proxy that refuses': () => new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail }),
  'a revoked proxy': () => revoked({}),
  'a revoked function': () => revoked(() => undefined),
  'an object of a revoked proxy': () => ({ data: revoked([]), shape: revoked([]) }),
  'a tensor behind a proxy': () => ({ data: new Proxy(new Float32Array(2), {}), shape: [2] }),
  'a tensor in resizable memory': () => ({
    data: new Float32Array(new ArrayBuffer(8, { maxByteLength: 16 })),
    shape: [2],
  }),
  'a boxed number': () => Object(1),
  'a boxed string': () => Object('a'),
  'an iterator of no results': () => ({
    [Symbol.iterator]: () => ({ next: () => 1 }),
    [Symbol.asyncIterator]: () => ({ next: () => 1 }),
  }),
  'an iterator that throws': () => ({ [Symbol.iterator]: fail, [Symbol.asyncIterator]: fail }),
  'a promise that rejects': async () => fail(),
  'an object whose text cannot be read': () => ({ toString: fail, [Symbol.toPrimitive]: fail }),
})

/** The value of a field once it has been read often enough. */
const LATER_VALUES = {
  'a number': 7,
  'a string': 'changed',
  null: null,
  'a huge array': new Array(100_000).fill(1),
}

/**
 * Name and maker of options that fit until they are read again: arrays and plain objects, at any depth, change at the second or
 * third read of a field, or have one more element at every look at their length. An object with methods is the caller's own.
 */
export const CHANGING_VALUES = [
  [
    'options that grow',
    (fitting) =>
      changing(fitting, (list, key, read) =>
        Array.isArray(list) && key === 'length' ? list.length + read : list[key],
      ),
  ],
  ...Object.entries(LATER_VALUES).flatMap(([name, later]) =>
    [1, 2].map((reads) => [
      `options that are ${name} after ${reads} reads`,
      (fitting) => changing(fitting, (holder, key, read) => (read > reads ? later : holder[key])),
    ]),
  ),
]

function changing(value, fieldOf) {
  if (!isPlain(value)) return value
  const reads = new Map()
  const inside = new Map()
  return new Proxy(value, {
    get(holder, key) {
      if (typeof key === 'symbol' || (!Object.hasOwn(holder, key) && !/^\d+$/.test(key))) return holder[key]
      reads.set(key, (reads.get(key) ?? 0) + 1)
      // Elements behind the end are like the last one.
      const field = fieldOf(holder, Object.hasOwn(holder, key) ? key : holder.length - 1, reads.get(key))
      if (!inside.has(field)) inside.set(field, hasMethods(field) ? field : changing(field, fieldOf))
      return inside.get(field)
    },
  })
}

const hasMethods = (value) => isPlain(value) && Object.values(value).some((each) => typeof each === 'function')

/** Whether a value is an object or array of a caller, not an instance of a class. */
export function isPlain(value) {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === Array.prototype) && !Object.isFrozen(value)
}

/** Objects of the library in a place where they do not belong, or in a state that cannot be used; `api` holds its modules. */
export function wrongObjects(api, subjects) {
  const disposed = (make) => async () => {
    const value = await make()
    value.dispose()
    return value
  }
  const ofAnother = (make) => () => make(api.reference.openReferenceBackend())
  return [
    ['a disposed tensor', disposed(subjects.BackendTensor)],
    [
      'a disposed model',
      disposed(() => new api.models.CudnnGRU(subjects.Backend(), { numLayers: 1, numUnits: 2, inputSize: 3 })),
    ],
    ['a disposed variable', disposed(subjects.Variable)],
    ['a disposed tape', disposed(subjects.Tape)],
    ['a disposed executor', disposed(() => api.reference.openReferenceBackend())],
    ['a tensor of another executor', ofAnother((backend) => backend.zeros([2]))],
    ['a tensor of another precision', () => api.reference.openReferenceBackend({ dtype: 'float64' }).zeros([2])],
    [
      'a model of another executor',
      ofAnother((b) => new api.models.CudnnGRU(b, { numLayers: 1, numUnits: 3, inputSize: 2 })),
    ],
    ['a dataset', subjects.Dataset],
    ['a saver', subjects.Saver],
    ['a cell', subjects.LSTMBlockCell],
  ]
}
