/** Printed form of an object: its kind, then its fields in this order. Undefined fields are omitted. */
export interface Summary {
  readonly kind: string
  readonly [field: string]: unknown
}

/** Node.js calls the method of this name to print an object; every other runtime ignores it. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom')

/**
 * An object with a readable printed form: `console.log`, `String` and `JSON.stringify` show its {@link Summary} and nothing
 * of its internals.
 *
 * @example
 * ```ts
 * import { Inspectable } from '@cudnn-rnn/rnn/canonical'
 *
 * class Clock extends Inspectable {
 *   readonly #ticks = new Float32Array(1000)
 *   protected summary() {
 *     return { kind: 'Clock', ticks: this.#ticks.length }
 *   }
 * }
 * console.log(new Clock()) // Clock { ticks: 1000 }
 * console.log(JSON.stringify(new Clock())) // {"kind":"Clock","ticks":1000}
 * ```
 */
export abstract class Inspectable {
  protected abstract summary(): Summary

  toString(): string {
    const { kind, ...fields } = this.summary()
    const parts = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}: ${fieldText(value)}`)
    return parts.length === 0 ? kind : `${kind} { ${parts.join(', ')} }`
  }

  toJSON(): Summary {
    return this.summary()
  }

  [INSPECT](): string {
    return this.toString()
  }
}

function fieldText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.join(',')}]`
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
