import { describe, expect, it } from 'vitest'
import {
  type AnyRule,
  checkArguments,
  checkOptions,
  either,
  FLAG,
  FUNCTION,
  fields,
  integerFrom,
  listOf,
  NUMBER,
  nullable,
  oneOf,
  optional,
  optionFields,
  PATH,
  recordOf,
  TEXT,
} from '../../src/rules/index.js'

const refused = (value: unknown, rule: AnyRule) => {
  try {
    checkArguments('walk', { value }, { value: rule })
  } catch (error) {
    const { code, message, argument } = error as Error & { code: string; argument: string }
    return { code, message, argument }
  }
  return undefined
}

describe('checkArguments', () => {
  it('names the action, the place, the rule and the value', () => {
    const rule = fields({ series: listOf(fields({ label: TEXT, size: optional(integerFrom(1)) })) })
    expect(refused({ series: [{ label: 'a' }, { label: 3 }] }, rule)).toEqual({
      code: 'ERR_INVALID_ARGUMENT',
      message: 'Cannot walk as value.series[1].label must be a string: current value is 3',
      argument: 'value.series[1].label',
    })
    expect(refused({ series: [{ label: 'a', size: 0 }] }, rule)).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: 'Cannot walk as value.series[0].size must be an integer >= 1: current value is 0',
    })
    expect(refused({ series: [{ label: 'a', size: undefined }] }, rule)).toBeUndefined()
  })

  it('refuses names that options within an argument do not have, and advises as for options', () => {
    const rule = listOf(optionFields({ metric: optional(TEXT), patience: NUMBER }))
    expect(refused([{ monitor: 'loss', patience: 2 }], rule)).toMatchObject({
      code: 'ERR_UNKNOWN_OPTION',
      message: 'Cannot walk as the option is unknown: current name is value[0].monitor. Did you mean metric?',
    })
    expect(refused([{ metric: 'loss', patience: 'two' }], rule)).toMatchObject({ argument: 'value[0].patience' })
    expect(refused([[]], rule)).toMatchObject({ code: 'ERR_INVALID_ARGUMENT' })
    expect(refused([{ patience: 2 }], rule)).toBeUndefined()
  })

  it('refuses values that throw where they are read, with the error as the cause', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const broken = new Error('broken')
    const throwing = {
      get size(): number {
        throw broken
      },
    }
    const code = 'ERR_INVALID_ARGUMENT'
    for (const rule of [fields({ size: NUMBER }), listOf(NUMBER), recordOf(NUMBER), optionFields({ size: NUMBER })])
      expect(refused(proxy, rule)).toMatchObject({ code, argument: 'value' })
    const options = () => checkOptions('walk', throwing, { size: NUMBER })
    expect(options).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION_TYPE', option: 'size', cause: broken }))
  })

  it('refuses values that have no text, and takes an array by its elements', () => {
    expect(refused(Symbol('s'), NUMBER)?.message).toBe(
      'Cannot walk as value must be a number: current value is Symbol(s)',
    )
    expect(refused(Object.create(null), TEXT)?.message).toBe(
      'Cannot walk as value must be a string: current value is an object without fields',
    )
    expect(refused({ length: 1, 0: 'a' }, listOf(TEXT))?.code).toBe('ERR_INVALID_ARGUMENT')
    expect(refused(new Array(2), listOf(TEXT))?.argument).toBe('value[0]')
    expect(refused([], listOf(TEXT, 1))?.code).toBe('ERR_INVALID_OPTION')
  })

  it('takes one of several kinds, and reports the defect within the matching one', () => {
    const rule = either(TEXT, listOf(NUMBER))
    expect(refused('a', rule)).toBeUndefined()
    expect(refused([1], rule)).toBeUndefined()
    expect(refused([1, 'b'], rule)?.argument).toBe('value[1]')
    expect(refused(true, rule)?.message).toContain('a string or an array')
    expect(refused(null, nullable(NUMBER))).toBeUndefined()
    expect(refused('a', nullable(NUMBER))?.message).toContain('a number, or null')
    expect(refused({ a: 1, b: 'c' }, recordOf(NUMBER))?.argument).toBe('value.b')
    expect(refused([1], recordOf(NUMBER))?.code).toBe('ERR_INVALID_ARGUMENT')
    expect(refused('a\0b', PATH)?.code).toBe('ERR_INVALID_OPTION')
  })
})

describe('checkOptions', () => {
  const rules = { mode: optional(oneOf(['min', 'max'])), verbose: optional(FLAG) }
  const codeOf = (options: unknown) => {
    try {
      checkOptions('walk', options as object, rules)
    } catch (error) {
      return (error as { code: string }).code
    }
    return undefined
  }

  it('returns the values that it has checked, of getters that give others afterwards', () => {
    let reads = 0
    const options = {
      get threads(): number {
        return reads++ === 0 ? 2 : 1e9
      },
      dtype: undefined as string | undefined,
    }
    const rules = { threads: integerFrom(1), dtype: optional(TEXT) }
    expect(checkOptions('open', options, rules)).toEqual({ threads: 2 })
    expect(reads).toBe(1)
  })

  it('reads fields, elements and lengths inside of options once, and returns copies', () => {
    let reads = 0
    const nested = {
      get size() {
        return reads++ === 0 ? 3 : 'three'
      },
    }
    const growing = new Proxy([1, 2], { get: (list, key) => (key === 'length' ? 2 + reads++ : list[0]) })
    const run = () => undefined
    const rules = {
      nested: optionFields({ size: integerFrom(1) }),
      growing: nullable(listOf(NUMBER)),
      either: either(TEXT, recordOf(listOf(NUMBER))),
      methods: fields({ run: FUNCTION }),
    }
    const options = { nested, growing, either: { list: growing }, methods: { run } }
    const checked = checkOptions<object>('walk', options, rules)
    expect(checked).toEqual({
      nested: { size: 3 },
      growing: [1, 1, 1],
      either: { list: [1, 1, 1, 1] },
      methods: { run },
    })
    expect(reads).toBe(3)
    expect(checked).toHaveProperty('methods', options.methods)
  })

  it('leaves an object with methods as it is, with its lists', () => {
    class Shaped {
      readonly #shape = [2, 3]
      get shape() {
        return this.#shape
      }
    }
    const [instance, own] = [new Shaped(), Object.freeze({ shape: [4], read: () => undefined })]
    const rules = { instance: fields({ shape: listOf(NUMBER) }), own: fields({ shape: listOf(NUMBER) }) }
    expect(checkOptions<object>('walk', { instance, own }, rules)).toEqual({ instance, own })
  })

  it('refuses non-objects, unknown names, wrong kinds and wrong values', () => {
    expect(codeOf({ mode: 'max' })).toBeUndefined()
    expect(codeOf(null)).toBe('ERR_INVALID_OPTION_TYPE')
    expect(codeOf({ modes: 'max' })).toBe('ERR_UNKNOWN_OPTION')
    expect(codeOf({ mode: 3 })).toBe('ERR_INVALID_OPTION_TYPE')
    expect(codeOf({ mode: 'sum' })).toBe('ERR_INVALID_OPTION')
    expect(codeOf({ verbose: 1 })).toBe('ERR_INVALID_OPTION_TYPE')
  })
})
