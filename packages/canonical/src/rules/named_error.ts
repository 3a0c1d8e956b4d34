import type { ErrorCode } from './error_code.js'
import { visibleMessage } from './visible_text.js'

/**
 * The base of errors with a class, which declares more fields. `instanceof` compares names, so it also holds if the error
 * comes from another copy of the package: an ES module beside a CommonJS module, or one in a bundle.
 */
export abstract class NamedError extends Error {
  /** The class's name, which stays if a minifier renames the class. */
  static readonly errorName: string

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore-start lint/complexity/noThisInStatic: the class right of `instanceof`, which derives from this one.
    if (!Object.hasOwn(this, 'errorName')) return Function.prototype[Symbol.hasInstance].call(this, value)
    return value instanceof Error && 'code' in value && value.name === this.errorName
    // biome-ignore-end lint/complexity/noThisInStatic: the class right of `instanceof`.
  }

  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, { cause }: { readonly cause?: unknown } = {}) {
    super(visibleMessage(message), cause === undefined ? undefined : { cause })
    this.name = new.target.errorName
    this.code = code
  }
}
