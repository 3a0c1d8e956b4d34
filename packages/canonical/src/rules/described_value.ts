import { arrayTypeOf, liveLength } from './host_elements.js'

/** The longest text of a caller's that a message repeats. */
const MAX_TEXT = 80

/**
 * Short text of a rejected value for an error message. Accepts any value, also one that cannot be converted
 * to text or read at all.
 *
 * @example
 * ```ts
 * import { describeValue } from '@cudnn-rnn/rnn/canonical'
 *
 * console.log(describeValue('fast'), describeValue(null), describeValue(new Float32Array(3)))
 * // "fast" null a Float32Array of 3 elements
 * ```
 */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return describeText(value)
    case 'function':
      return 'a function'
    case 'object':
      return value === null ? 'null' : describeObject(value)
    case 'bigint':
      return `${value}n`
    default:
      return String(value)
  }
}

/** The message of anything that was thrown: an error may have a getter that throws again, and another value no text. */
export function thrownMessage(error: unknown): string {
  if (typeof error === 'string') return error
  try {
    if (error instanceof Error) return String(error.message)
  } catch {
    // Its text is any other object's.
  }
  return describeValue(error)
}

/** The text in quotes, as '3' is not 3, with line breaks and control characters escaped. */
function describeText(text: string): string {
  if (text === '') return 'an empty string'
  const shown = JSON.stringify(text.slice(0, MAX_TEXT))
  return text.length > MAX_TEXT ? `${shown}…` : shown
}

function describeObject(value: object): string {
  try {
    const arrayType = arrayTypeOf(value)
    if (arrayType !== undefined) return `a ${arrayType} of ${liveLength(value as ArrayBufferView)} elements`
    if (Array.isArray(value)) return `an array of ${value.length}`
    if (value instanceof Promise) return 'a promise: await it first'
    const className = classNameOf(value)
    const kind = className === undefined ? 'an object' : `${/^[AEIOU]/.test(className) ? 'an' : 'a'} ${className}`
    const names = Object.keys(value)
    if (names.length === 0) return className === undefined ? `${kind} without fields` : kind
    return `${kind} with the fields ${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''}`
  } catch {
    return 'an object that cannot be read'
  }
}

/** Undefined for plain objects, and for names that a minifier made. */
function classNameOf(value: object): string | undefined {
  const name = /^_?([A-Z]\w{2,})$/.exec(String(Object.getPrototypeOf(value)?.constructor?.name))?.[1]
  return name === 'Object' ? undefined : name
}
