import type { AbortSignalLike } from './abortable.js'
import type { ErrorCode } from './error_code.js'
import { arrayTypeOf, isBytes } from './host_elements.js'
import { choiceAdvice, type UnknownName, unknownName } from './option_names.js'

/** The place at which an argument breaks its rule. */
export interface Fault {
  /** The argument's name, or a place inside it: `options.series[2].label`. */
  readonly path: string
  /** What there must be: completes "<path> must be …". */
  readonly words: string
  readonly value: unknown
  /** True if the value is of another kind (a TypeError), false if it is one that is not allowed (a RangeError). */
  readonly isOtherKind: boolean
  /** The code of the error. Default: the code of all rules of its kind. */
  readonly code?: ErrorCode
  /** What to do: a sentence at the end of the message. */
  readonly advice?: string | undefined
  /** Set if the place is an option that does not exist. */
  readonly unknown?: UnknownName
}

/** The value that a rule has checked: for an array or a plain object, the copy that the rule made of it. */
export interface Kept {
  value: unknown
}

/** A rule without the type of its values: the members that checks use. */
export interface AnyRule {
  /** Completes "must be …". */
  readonly words: string
  /**
   * The first place at or inside `value` that breaks the rule. Each element and field is read once, as a getter or a proxy
   * may give another value at the next read.
   *
   * @param kept holds `value`, and afterwards the value or copy that was checked.
   */
  find(value: unknown, path: string, kept?: Kept): Fault | undefined
}

/**
 * The requirement of an argument, whose type is `Value`. Rules are made once, beside the function whose arguments they
 * describe.
 *
 * A rule fits an argument of another type if every value of that type is of the rule's kind, and if the rule admits no
 * other text, number, boolean, null or undefined. So a rule of objects may look at a part of their fields.
 */
export interface Rule<in Value, out Plain = NoInfer<Exclude<Value, object>>> extends AnyRule {
  /** Serves the type alone: no rule has this field. */
  readonly admits?: (value: Value) => Plain
}

export type ValueOf<Given extends AnyRule> = Given extends { readonly admits?: (value: infer Value) => unknown }
  ? Value
  : never

/**
 * The type of an object whose fields follow `Rules`: a field is optional if its rule admits undefined. The fields keep the
 * doc comments of the table's entries.
 */
export type OptionsOf<Rules extends Readonly<Record<string, AnyRule>>> = Flat<
  ValuesOf<Omit<Rules, OptionalName<Rules>>> & Partial<ValuesOf<Pick<Rules, OptionalName<Rules>>>>
>
type OptionalName<Rules extends Readonly<Record<string, AnyRule>>> = {
  [Name in keyof Rules]: undefined extends ValueOf<Rules[Name]> ? Name : never
}[keyof Rules]
// Mapped over the keys of a type, without `as`: only then does the compiler keep the declarations of the fields.
type ValuesOf<Rules> = { readonly [Name in keyof Rules]: Rules[Name] extends AnyRule ? ValueOf<Rules[Name]> : never }
// By inference, as the compiler then prints the fields in its messages, and not the table.
type Flat<Fields> = Fields extends infer Each ? { [Name in keyof Each]: Each[Name] } : never

// The annotation of functions that make rules lets bundlers leave out the rules that a page does not use.

type AnyFunction = (...given: never) => unknown

/** @param isList whether an array is kept as the elements that it has now: one that grows would have no end. */
/* @__NO_SIDE_EFFECTS__ */ export function kind<Value>(
  words: string,
  isKind: (value: unknown) => value is Value,
  isList?: boolean,
): Rule<Value> {
  return {
    words,
    find(value, path, kept) {
      if (!isKind(value)) return { path, words, value, isOtherKind: true }
      if (isList && kept && Array.isArray(value)) kept.value = Array.prototype.slice.call(value)
      return undefined
    },
  }
}

/** `rule`, narrowed to the values that `isAllowed`. */
/* @__NO_SIDE_EFFECTS__ */ export function where<Value>(
  rule: Rule<Value>,
  words: string,
  isAllowed: (value: Value) => boolean,
): Rule<Value> {
  return {
    words,
    find(value, path, kept = { value }) {
      const fault = rule.find(value, path, kept)
      if (fault !== undefined) return { ...fault, words: fault.path === path ? words : fault.words }
      return isAllowed(kept.value as Value) ? undefined : { path, words, value, isOtherKind: false }
    },
  }
}

export const TEXT = kind('a string', (value) => typeof value === 'string')
export const FLAG = kind('a boolean', (value) => typeof value === 'boolean')
export const NUMBER = kind('a number', (value) => typeof value === 'number')
export const FUNCTION = kind('a function', (value): value is AnyFunction => typeof value === 'function')
export const OBJECT = kind('an object', isObject)

export const ANYTHING = kind('any value', (_value): _value is unknown => true)

/**
 * A rule for an argument whose type is narrower than the values that it accepts: `typed<() => void>(FUNCTION)`. Inside
 * `optional` and its like the type argument is enough: `optional<() => void>(FUNCTION)`.
 */
export function typed<Value>(rule: Rule<Value>): Rule<Value> {
  return rule
}

/** The rule of an option that another function checks: its type is the option's. */
export function checkedElsewhere<Value>(): Rule<Value> {
  return ANYTHING as AnyRule
}

export const FINITE = where(NUMBER, 'a finite number', Number.isFinite)
export const POSITIVE = where(NUMBER, 'a finite number > 0', (value) => Number.isFinite(value) && value > 0)

/** The longest delay of `setTimeout`, which would not wait at all for a longer one. */
const MOST_MS = 2 ** 31 - 1

/** A delay in milliseconds. */
export const DELAY_MS = where(NUMBER, `a number in 0..${MOST_MS}`, (value) => value >= 0 && value <= MOST_MS)

/** A limit of time in seconds, of at most 23 days. */
export const SECONDS = where(NUMBER, 'a number of seconds > 0, at most 2,000,000', (value) => value > 0 && value <= 2e6)

/** A share or a probability. */
export const SHARE = where(NUMBER, 'a number in 0..1', (value) => value >= 0 && value <= 1)

/** Bytes, of any subclass. */
export const BYTES = kind('a Uint8Array', isBytes)

/* @__NO_SIDE_EFFECTS__ */ export function integerFrom(least: number): Rule<number> {
  return where(NUMBER, `an integer >= ${least}`, (value) => Number.isSafeInteger(value) && value >= least)
}

export function integerIn(least: number, most: number): Rule<number> {
  const isIn = (value: number) => Number.isSafeInteger(value) && value >= least && value <= most
  return where(NUMBER, `an integer in ${least}..${most}`, isIn)
}

/** A path of the file system, which cannot name anything with a NUL in it; a URL would be taken for names of folders. */
export const PATH = where(
  TEXT,
  'a path, which is not empty, no URL and without NUL characters',
  (path) => path !== '' && !path.includes('\0') && !/^[a-z][a-z\d+.-]+:\/\//i.test(path),
)

/** A path whose last part names a file. */
export const FILE_PATH = where(PATH, 'a path, no URL, that ends in a name', (path) => !/(^|[/\\])\.{0,2}$/.test(path))

/** Some typed array or array of numbers, whose elements are not looked at. */
export const NUMBERS = kind(
  'an array of numbers',
  (value): value is ArrayLike<number> =>
    Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView)),
  true,
)

/** What `for await … of` takes beside that. */
export const ASYNC_ITERABLE = kind(
  'an async iterable',
  (value): value is AsyncIterable<unknown> =>
    isObject(value) && typeof (value as AsyncIterable<unknown>)[Symbol.asyncIterator] === 'function',
)

/** What `for … of` takes; an array whose buffer was transferred has no elements. */
export const ITERABLE = kind(
  'an iterable',
  (value): value is Iterable<unknown> => {
    if (typeof value === 'string') return true
    if (!isObject(value) || typeof (value as Iterable<unknown>)[Symbol.iterator] !== 'function') return false
    return arrayTypeOf(value) === undefined || canBeRead(value as Iterable<unknown>)
  },
  true,
)

/** A map with any contents. */
export const MAP = kind('a Map', (value): value is ReadonlyMap<unknown, unknown> => value instanceof Map)

/** One of a few strings. */
export function oneOf<const Value extends string>(values: readonly Value[]): Rule<Value> {
  const words = `one of ${values.join(', ')}`
  return {
    words,
    find(value, path) {
      if (values.includes(value as Value)) return undefined
      return { path, words, value, isOtherKind: typeof value !== 'string', advice: choiceAdvice(value, values) }
    },
  }
}

/** A name of an entry of `table`. */
export function keyOf<Table extends object>(table: Table): Rule<keyof Table & string> {
  return oneOf(Object.keys(table) as (keyof Table & string)[])
}

/* @__NO_SIDE_EFFECTS__ */ export function optional<Value>(rule: Rule<Value>): Rule<Value | undefined> {
  return {
    words: rule.words,
    find: (value, path, kept) => (value === undefined ? undefined : rule.find(value, path, kept)),
  }
}

/** Like {@link optional}, null too. */
export function nullable<Value>(rule: Rule<Value>): Rule<Value | null | undefined> {
  const words = `${rule.words}, or null`
  return {
    words,
    find(value, path, kept) {
      if (value === undefined || value === null) return undefined
      const fault = rule.find(value, path, kept)
      return fault?.path === path ? { ...fault, words } : fault
    },
  }
}

export function either<Rules extends readonly AnyRule[]>(...rules: Rules): Rule<ValueOf<Rules[number]>> {
  const words = rules.map((rule) => rule.words).join(' or ')
  return {
    words,
    find(value, path, kept = { value }) {
      let specific: Fault | undefined
      for (const rule of rules) {
        kept.value = value
        const fault = rule.find(value, path, kept)
        if (fault === undefined) return undefined
        // If the value is of the right kind for one of them, that rule's fault is more specific.
        if (fault.path !== path || !fault.isOtherKind) specific ??= fault
      }
      return specific ?? { path, words, value, isOtherKind: true }
    },
  }
}

/** An array whose elements all follow `element`. */
export function listOf<Element>(element: Rule<Element>, least = 0): Rule<readonly Element[]> {
  const words = least === 0 ? `an array, each element ${element.words}` : `an array of at least ${least}`
  return {
    words,
    find(value, path, kept = { value }) {
      if (!Array.isArray(value)) return { path, words, value, isOtherKind: true }
      const { length } = value
      if (length < least) return { path, words, value, isOtherKind: false }
      const list: unknown[] = []
      while (list.length < length) {
        kept.value = value[list.length]
        const fault = element.find(kept.value, `${path}[${list.length}]`, kept)
        if (fault !== undefined) return fault
        list.push(kept.value)
      }
      kept.value = list
      return undefined
    },
  }
}

/** An object whose fields follow the rules of their names; other fields are kept and not looked at. */
/* @__NO_SIDE_EFFECTS__ */ export function fields<Rules extends Readonly<Record<string, AnyRule>>>(
  rules: Rules,
  words = 'an object',
): Rule<OptionsOf<Rules>> {
  const entries = Object.entries(rules)
  return {
    words,
    find(value, path, kept = { value }) {
      if (!isObject(value)) return { path, words, value, isOtherKind: true }
      const read = plainCopy(value)
      return findIn(read, entries, path, kept, read !== value)
    },
  }
}

/** Like {@link fields}, of an object of options: other fields are refused. */
export function optionFields<Rules extends Readonly<Record<string, AnyRule>>>(rules: Rules): Rule<OptionsOf<Rules>> {
  const known = fields(rules)
  return {
    words: known.words,
    find(value, path, kept) {
      const unknown =
        isObject(value) && !Array.isArray(value) ? unknownName(Object.keys(value), Object.keys(rules)) : undefined
      if (unknown === undefined) return known.find(value, path, kept)
      return { path: `${path}.${unknown.name}`, words: known.words, value, isOtherKind: true, unknown }
    },
  }
}

/** An object whose fields all follow `element`, under any names. */
export function recordOf<Element>(element: Rule<Element>): Rule<Readonly<Record<string, Element>>> {
  const words = `an object, each field ${element.words}`
  return {
    words,
    find(value, path, kept = { value }) {
      if (!isObject(value) || Array.isArray(value)) return { path, words, value, isOtherKind: true }
      const copy = { ...value }
      return findIn(
        copy,
        Object.keys(copy).map((name) => [name, element]),
        path,
        kept,
      )
    },
  }
}

/** An object, or function, that has these methods. */
/* @__NO_SIDE_EFFECTS__ */ export function methods<const Names extends readonly string[]>(
  words: string,
  ...names: Names
): Rule<Readonly<Record<Names[number], AnyFunction>>> {
  return kind(
    words,
    (value): value is Record<Names[number], AnyFunction> =>
      isObject(value) && names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
  )
}

/**
 * Whether a value is an object that has a member `name`. `instanceof` would fail for an instance of another copy of its
 * class, and a program may load two copies: by `import` and by `require`, or from a linked package.
 */
export function hasMember(value: unknown, name: string): boolean {
  try {
    return isObject(value) && name in value
  } catch {
    // A proxy that refuses to be read.
    return false
  }
}

export const SIGNAL: Rule<AbortSignalLike> = methods(
  'an AbortSignal',
  'addEventListener',
  'removeEventListener',
) as AnyRule

/** The first fault in a field of `fields`; without one, `kept` holds them. */
function findIn(
  fields: object,
  rules: readonly (readonly [string, AnyRule])[],
  path: string,
  kept: Kept,
  isCopy = true,
): Fault | undefined {
  const own = fields as Record<string, unknown>
  for (const [name, rule] of rules) {
    const value = own[name]
    kept.value = value
    const fault = rule.find(value, `${path}.${name}`, kept)
    if (fault !== undefined) return fault
    // The caller's object stays as it is.
    if (isCopy && kept.value !== value) own[name] = kept.value
  }
  kept.value = own
  return undefined
}

/** A copy of an object that only holds data. An instance of a class stays, and one of the caller's own that has methods. */
function plainCopy(value: object): object {
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy = { ...value }
  return Object.values(copy).some((each) => typeof each === 'function') ? value : copy
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
