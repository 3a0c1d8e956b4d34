import { describe, expect, it } from 'vitest'
import {
  ANYTHING,
  type AnyRule,
  ASYNC_ITERABLE,
  BYTES,
  checkedElsewhere,
  either,
  FILE_PATH,
  FINITE,
  FLAG,
  FUNCTION,
  fields,
  ITERABLE,
  integerFrom,
  integerIn,
  keyOf,
  kind,
  listOf,
  MAP,
  methods,
  NUMBER,
  NUMBERS,
  nullable,
  OBJECT,
  oneOf,
  optional,
  PATH,
  POSITIVE,
  recordOf,
  SHARE,
  TEXT,
  where,
} from '../../src/rules/index.js'

const transferred = new Float32Array(2)
structuredClone(transferred, { transfer: [transferred.buffer] })

/** Each rule with values that follow it, values of another kind, and values of its kind that are not allowed. */
const RULES: readonly [string, AnyRule, accepted: unknown[], otherKinds: unknown[], notAllowed: unknown[]][] = [
  ['TEXT', TEXT, ['', 'a'], [1, null, undefined, ['a'], new String('a')], []],
  ['FLAG', FLAG, [true, false], [0, 'true', undefined], []],
  ['NUMBER', NUMBER, [0, Number.NaN, Number.POSITIVE_INFINITY], ['1', 1n, undefined], []],
  ['FUNCTION', FUNCTION, [() => 1, class {}], [{}, 'f'], []],
  ['OBJECT', OBJECT, [{}, [], new Map()], [null, undefined, 'a', () => 1], []],
  ['ANYTHING', ANYTHING, [undefined, null, 0, {}], [], []],
  ['FINITE', FINITE, [0, -1.5], ['1'], [Number.NaN, Number.NEGATIVE_INFINITY]],
  ['POSITIVE', POSITIVE, [Number.MIN_VALUE, 3], ['1'], [0, -0, -1, Number.POSITIVE_INFINITY, Number.NaN]],
  ['SHARE', SHARE, [0, -0, 0.5, 1], ['0.5'], [-0.1, 1.1, Number.NaN]],
  [
    'BYTES',
    BYTES,
    [new Uint8Array(0), new (class Bytes extends Uint8Array {})(1)],
    [new Int8Array(1), new ArrayBuffer(1), [1]],
    [],
  ],
  ['integerFrom(-1)', integerFrom(-1), [-1, 0, Number.MAX_SAFE_INTEGER], ['1', 1n], [-2, 0.5, 2 ** 53, Number.NaN]],
  ['integerIn(1, 3)', integerIn(1, 3), [1, 2, 3], [true], [0, 4, 1.5, Number.POSITIVE_INFINITY]],
  ['PATH', PATH, ['a/b', '.', 'c:\\d', 'a/'], [3, new Uint8Array(1)], ['a\0b', '', 'file:///a', 'https://a.b/c']],
  [
    'FILE_PATH',
    FILE_PATH,
    ['a/b', '.a', '...', 'c:\\d'],
    [3],
    ['', '.', '..', '/', 'a/', 'a/.', 'a/..', 'c:\\', 'file:///a/b'],
  ],
  ['NUMBERS', NUMBERS, [[], ['a'], new BigInt64Array(1)], [new DataView(new ArrayBuffer(1)), { length: 1 }, '12'], []],
  [
    'ASYNC_ITERABLE',
    ASYNC_ITERABLE,
    [(async function* () {})(), { [Symbol.asyncIterator]: () => {} }],
    [[1], null, 'a', { [Symbol.asyncIterator]: 1 }],
    [],
  ],
  [
    'ITERABLE',
    ITERABLE,
    ['a', [], new Map(), new Float32Array(1), (function* () {})()],
    [null, 3, {}, { [Symbol.iterator]: 1 }, transferred],
    [],
  ],
  ['MAP', MAP, [new Map()], [{}, new Set(), new WeakMap()], []],
  ["oneOf(['min', 'max'])", oneOf(['min', 'max']), ['min', 'max'], [0, undefined, ['min']], ['', 'MIN', 'mean']],
  ['keyOf({ min: 0, max: 1 })', keyOf({ min: 0, max: 1 }), ['min', 'max'], [0], ['toString']],
  ['optional(POSITIVE)', optional(POSITIVE), [undefined, 1], [null, '1'], [0]],
  ['nullable(POSITIVE)', nullable(POSITIVE), [undefined, null, 1], ['1'], [0]],
  ['either(TEXT, POSITIVE)', either(TEXT, POSITIVE), ['a', 1], [null, {}], [0]],
  ['listOf(TEXT)', listOf(TEXT), [[], ['a']], ['a', { length: 0 }, new Array(2), [1]], []],
  ['listOf(TEXT, 2)', listOf(TEXT, 2), [['a', 'b']], ['ab'], [[], ['a']]],
  ['fields', fields({ a: NUMBER, b: optional(TEXT) }), [{ a: 1 }, { a: 1, c: 2 }], [null, {}, { a: '1' }], []],
  ['recordOf(POSITIVE)', recordOf(POSITIVE), [{}, { a: 1 }], [[], null, { a: 'b' }], [{ a: 1, b: 0 }]],
  ['methods', methods('a closer', 'close'), [{ close() {} }], [{}, { close: 1 }, null, () => 1], []],
]

describe.each(RULES)('%s', (_, rule, accepted, otherKinds, notAllowed) => {
  it('finds no fault in values that obey it', () => {
    for (const value of accepted) {
      expect(rule.find(value, 'value')).toBeUndefined()
    }
  })

  it('distinguishes a value of another kind from one that is not allowed', () => {
    for (const value of otherKinds) expect(rule.find(value, 'value')).toMatchObject({ isOtherKind: true })
    for (const value of notAllowed) expect(rule.find(value, 'value')).toMatchObject({ isOtherKind: false })
  })
})

describe('words', () => {
  it.each<[AnyRule, string]>([
    [integerFrom(1), 'an integer >= 1'],
    [integerIn(0, 9), 'an integer in 0..9'],
    [oneOf(['a', 'b']), 'one of a, b'],
    [optional(TEXT), 'a string'],
    [nullable(TEXT), 'a string, or null'],
    [either(TEXT, FLAG), 'a string or a boolean'],
    [listOf(TEXT), 'an array, each element a string'],
    [listOf(TEXT, 2), 'an array of at least 2'],
    [recordOf(NUMBER), 'an object, each field a number'],
    [fields({}, 'a point'), 'a point'],
    [methods('a tokenizer', 'encode'), 'a tokenizer'],
  ])('%#: %s', (rule, words) => {
    expect(rule.words).toBe(words)
    expect(rule.find(Symbol('never right'), 'value')).toMatchObject({ words, path: 'value' })
  })
})

describe('where', () => {
  it('applies the narrower rule only to values of the right kind', () => {
    const rule = where(TEXT, 'a lower-case string', (text: string) => text === text.toLowerCase())
    expect(rule.find(3, 'name')).toEqual({
      path: 'name',
      words: 'a lower-case string',
      value: 3,
      isOtherKind: true,
    })
    expect(rule.find('A', 'name')).toMatchObject({ words: 'a lower-case string', isOtherKind: false })
  })

  it('keeps the words of a nested fault', () => {
    const rule = where(listOf(NUMBER), 'a sorted array', () => false)
    expect(rule.find([1, 'b'], 'list')).toMatchObject({ path: 'list[1]', words: 'a number' })
    expect(rule.find([1], 'list')).toMatchObject({ path: 'list', words: 'a sorted array' })
  })
})

describe('the path of a fault', () => {
  const point = fields({ x: FINITE, y: FINITE })
  it.each<[AnyRule, unknown, string]>([
    [
      listOf(point),
      [
        { x: 1, y: 2 },
        { x: 1, y: Number.NaN },
      ],
      'v[1].y',
    ],
    [fields({ at: fields({ deep: listOf(TEXT) }) }), { at: { deep: ['a', 3] } }, 'v.at.deep[1]'],
    [recordOf(listOf(NUMBER)), { a: [], b: [1, null] }, 'v.b[1]'],
    [nullable(point), { x: 1 }, 'v.y'],
    [optional(point), { y: 1 }, 'v.x'],
    [either(TEXT, listOf(point)), [{ x: 'a', y: 1 }], 'v[0].x'],
    [either(point, listOf(point)), 3, 'v'],
  ])('%#: %s', (rule, value, path) => {
    expect(rule.find(value, 'v')?.path).toBe(path)
  })

  it('is that of the first fault', () => {
    expect(point.find({ x: 'a', y: 'b' }, 'v')?.path).toBe('v.x')
  })
})

describe('kind', () => {
  it('makes a rule of a predicate', () => {
    const even = kind('an even number', (value): value is number => typeof value === 'number' && value % 2 === 0)
    expect(even.find(2, 'n')).toBeUndefined()
    expect(even.find(3, 'n')).toEqual({ path: 'n', words: 'an even number', value: 3, isOtherKind: true })
  })
})

describe('checkedElsewhere', () => {
  it('makes a rule that any value follows', () => {
    const rule = checkedElsewhere<number>()
    expect(rule.find('a', 'n')).toBeUndefined()
    expect(rule.find(undefined, 'n')).toBeUndefined()
  })
})
