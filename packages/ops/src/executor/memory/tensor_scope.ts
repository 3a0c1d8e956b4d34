import { describeValue } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import { withEnd } from './with_end.js'

/** Something that holds memory until it is disposed. */
interface Disposed {
  dispose(): void
}

/** The tensors that one scope made, and the scope around it. */
class Scope {
  readonly made = new Set<Disposed>()
  readonly outer: Scope | undefined

  constructor(outer: Scope | undefined) {
    this.outer = outer
  }
}

/** Stores the current scope; AsyncLocalStorage is one. */
interface ScopeStorage {
  getStore(): Scope | undefined
  run<Result>(scope: Scope, body: () => Result): Result
}

/** Node.js, Deno or Bun; its types are not named, as this package runs in browsers, too. */
interface Platform {
  readonly process?: {
    getBuiltinModule?(name: string): { readonly AsyncLocalStorage: new () => ScopeStorage } | undefined
  }
}

/** Made by the first scope, so that nothing is looked up before there is one. */
let storage: ScopeStorage | undefined

function scopes(): ScopeStorage {
  if (storage === undefined) {
    const hooks = (globalThis as Platform).process?.getBuiltinModule?.('node:async_hooks')
    storage = hooks === undefined ? new EnteredLast() : new hooks.AsyncLocalStorage()
  }
  return storage
}

/** If there is no AsyncLocalStorage: scopes must not overlap in time unless one is within the other. */
class EnteredLast implements ScopeStorage {
  readonly #entered: Scope[] = []

  getStore(): Scope | undefined {
    return this.#entered.at(-1)
  }

  run<Result>(scope: Scope, body: () => Result): Result {
    const leave = () => void this.#entered.splice(this.#entered.indexOf(scope), 1)
    this.#entered.push(scope)
    return withEnd(body, leave)
  }
}

/** Notes a tensor or tape in the current scope, if there is one. */
export function noteInScope(made: object): void {
  storage?.getStore()?.made.add(made as Disposed)
}

/**
 * Disposes every tensor and tape of any executor that `body` makes, except those in its result: single tensors, in
 * arrays, maps and objects, variables and models included. Scopes nest: the result of an inner scope belongs to the outer.
 *
 * Asynchronous bodies may run side by side in Node.js; in browsers one after another.
 *
 * @throws TypeError `ERR_INVALID_OPTION_TYPE` for a body that is not a function; any error of `body`, after everything is disposed
 * @example
 * ```ts
 * import { scope } from '@cudnn-rnn/rnn/layers'
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend()
 * const sum = await scope(async () => {
 *   const x = backend.tensor({ data: Float32Array.of(1, 2), shape: [2] })
 *   const y = backend.zeros([2])
 *   backend.ops.accumulate(y, x)
 *   return y
 * })
 * console.log(await sum.data(), backend.stats().tensors) // [1, 2] 1
 * ```
 */
export function scope<Result>(body: () => Result): Result {
  if (typeof body !== 'function') {
    throw codedTypeError(
      'ERR_INVALID_OPTION_TYPE',
      `Cannot open a scope as its body must be a function: current value is ${describeValue(body)}`,
      { argument: 'body' },
    )
  }
  const all = scopes()
  const own = new Scope(all.getStore())
  return withEnd(
    () => all.run(own, body),
    (result) => end(own, result),
  )
}

/**
 * Disposes the tensors that are not part of `result`; the others belong to the outer scope. Disposes all if a getter of
 * the result throws: its caller gets the error in place of the result.
 */
function end({ made, outer }: Scope, result: unknown): void {
  const kept = new Set<Disposed>()
  try {
    notePartsOf(result, made, kept, new Set())
  } catch (error) {
    kept.clear()
    throw error
  } finally {
    for (const each of made) {
      if (kept.has(each)) outer?.made.add(each)
      else each.dispose()
    }
    made.clear()
  }
}

/** Adds to `kept` each of `made` that `value` is or holds. */
function notePartsOf(value: unknown, made: ReadonlySet<Disposed>, kept: Set<Disposed>, seen: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || seen.has(value) || ArrayBuffer.isView(value)) return
  seen.add(value)
  if (made.has(value as Disposed)) kept.add(value as Disposed)
  const parts = value instanceof Map ? value.values() : value instanceof Set ? value : Object.values(value)
  for (const each of parts) notePartsOf(each, made, kept, seen)
}
