import { arrayTypeOf } from './host_elements.js'

/** Where an argument breaks its rule. */
export interface Fault {
  /** The argument's name, or a place inside it: `options.series[2].label`. */
  readonly path: string
  /** What there must be: completes "<path> must be …". */
  readonly words: string
  readonly value: unknown
  /** True where the value is of another kind (a TypeError), false where it is one that is not allowed (a RangeError). */
  readonly isOtherKind: boolean
}

/** The requirement of an argument. Rules are made once, beside the function whose arguments they describe. */
export interface Rule {
  /** Completes "must be …". */
  readonly words: string
  /** The first place at or inside `value` that breaks the rule. */
  find(value: unknown, path: string): Fault | undefined
}

/** A rule of one kind of value. */
export function kind(words: string, isKind: (value: unknown) => boolean): Rule {
  return {
    words,
    find: (value, path) => (isKind(value) ? undefined : { path, words, value, isOtherKind: true }),
  }
}

/** `rule`, narrowed to the values that `isAllowed`. */
export function where(rule: Rule, words: string, isAllowed: (value: never) => boolean): Rule {
  return {
    words,
    find(value, path) {
      const fault = rule.find(value, path)
      if (fault !== undefined) return { ...fault, words: fault.path === path ? words : fault.words }
      return isAllowed(value as never) ? undefined : { path, words, value, isOtherKind: false }
    },
  }
}

export const TEXT = kind('a string', (value) => typeof value === 'string')
export const FLAG = kind('a boolean', (value) => typeof value === 'boolean')
export const NUMBER = kind('a number', (value) => typeof value === 'number')
export const FUNCTION = kind('a function', (value) => typeof value === 'function')
export const OBJECT = kind('an object', isObject)

export const ANYTHING = kind('any value', () => true)

export const FINITE = where(NUMBER, 'a finite number', Number.isFinite)
export const POSITIVE = where(NUMBER, 'a finite number > 0', (value: number) => Number.isFinite(value) && value > 0)

/** Bytes, of any subclass. */
export const BYTES = kind('a Uint8Array', (value) => arrayTypeOf(value) === 'Uint8Array')

/** An integer >= `least`. */
export function integerFrom(least: number): Rule {
  return where(NUMBER, `an integer >= ${least}`, (value: number) => Number.isSafeInteger(value) && value >= least)
}

/** An integer in least..most. */
export function integerIn(least: number, most: number): Rule {
  const isIn = (value: number) => Number.isSafeInteger(value) && value >= least && value <= most
  return where(NUMBER, `an integer in ${least}..${most}`, isIn)
}

/** A path of the file system, which cannot name anything with a NUL in it. */
export const PATH = where(TEXT, 'a path without NUL characters', (path: string) => !path.includes('\0'))

/** Some typed array or array of numbers, whose elements are not looked at. */
export const NUMBERS = kind(
  'an array of numbers',
  (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView)),
)

/** What `for await … of` takes beside that. */
export const ASYNC_ITERABLE = kind(
  'an async iterable',
  (value) => isObject(value) && typeof (value as AsyncIterable<unknown>)[Symbol.asyncIterator] === 'function',
)

/** What `for … of` takes; an array whose buffer was transferred has no elements. */
export const ITERABLE = kind('an iterable', (value) => {
  if (typeof value === 'string') return true
  if (!isObject(value) || typeof (value as Iterable<unknown>)[Symbol.iterator] !== 'function') return false
  return arrayTypeOf(value) === undefined || canBeRead(value as Iterable<unknown>)
})

/** A map with any contents. */
export const MAP = kind('a Map', (value) => value instanceof Map)

/** One of a few strings. */
export function oneOf(values: readonly string[]): Rule {
  const words = `one of ${values.join(', ')}`
  return where(TEXT, words, (value: string) => values.includes(value))
}

/** A rule that also accepts undefined. */
export function optional(rule: Rule): Rule {
  return { words: rule.words, find: (value, path) => (value === undefined ? undefined : rule.find(value, path)) }
}

/** As {@link optional}, null too. */
export function nullable(rule: Rule): Rule {
  const words = `${rule.words}, or null`
  return {
    words,
    find(value, path) {
      if (value === undefined || value === null) return undefined
      const fault = rule.find(value, path)
      return fault?.path === path ? { ...fault, words } : fault
    },
  }
}

/** Any one of the rules. */
export function either(...rules: readonly Rule[]): Rule {
  const words = rules.map((rule) => rule.words).join(' or ')
  return {
    words,
    find(value, path) {
      const faults = rules.map((rule) => rule.find(value, path))
      if (faults.includes(undefined)) return undefined
      // Of the right kind for one of them: its fault is more specific.
      return (
        faults.find((fault) => fault?.path !== path || !fault.isOtherKind) ?? { path, words, value, isOtherKind: true }
      )
    },
  }
}

/** An array whose elements all follow `element`. */
export function listOf(element: Rule, least = 0): Rule {
  const words = least === 0 ? `an array, each element ${element.words}` : `an array of at least ${least}`
  return {
    words,
    find(value, path) {
      if (!Array.isArray(value)) return { path, words, value, isOtherKind: true }
      if (value.length < least) return { path, words, value, isOtherKind: false }
      for (let index = 0; index < value.length; index++) {
        const fault = element.find(value[index], `${path}[${index}]`)
        if (fault !== undefined) return fault
      }
      return undefined
    },
  }
}

/** An object whose fields follow the rules of their names; other fields are not looked at. */
export function fields(rules: Readonly<Record<string, Rule>>, words = 'an object'): Rule {
  const entries = Object.entries(rules)
  return {
    words,
    find(value, path) {
      if (!isObject(value)) return { path, words, value, isOtherKind: true }
      for (const [name, rule] of entries) {
        const fault = rule.find((value as Record<string, unknown>)[name], `${path}.${name}`)
        if (fault !== undefined) return fault
      }
      return undefined
    },
  }
}

/** An object whose fields all follow `element`, under any names. */
export function recordOf(element: Rule): Rule {
  const words = `an object, each field ${element.words}`
  return {
    words,
    find(value, path) {
      if (!isObject(value) || Array.isArray(value)) return { path, words, value, isOtherKind: true }
      for (const [name, each] of Object.entries(value)) {
        const fault = element.find(each, `${path}.${name}`)
        if (fault !== undefined) return fault
      }
      return undefined
    },
  }
}

/** An object, or function, that has these methods. */
export function methods(words: string, ...names: readonly string[]): Rule {
  return kind(
    words,
    (value) => isObject(value) && names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** False for an array whose buffer was transferred: the engine refuses to iterate it. */
function canBeRead(array: Iterable<unknown>): boolean {
  try {
    array[Symbol.iterator]()
    return true
  } catch {
    return false
  }
}
