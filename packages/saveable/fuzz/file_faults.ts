import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { resolve, sep } from 'node:path'

export const CALLS = ['open', 'write', 'fsync', 'rename', 'unlink', 'close'] as const
export type Call = (typeof CALLS)[number]

export interface Fault {
  /** Which kind of call counts; by default any of them. */
  readonly call?: Call | undefined
  /** The n-th such call, from 1. */
  readonly n: number
  /** `error`: it fails with EIO. The others: SIGKILL before or after it. */
  readonly kind: 'error' | 'kill-before' | 'kill-after'
}

/** Functions whose first argument is the path; some open, write and close. */
const FUNCTIONS = [
  ['readFile', 'open'],
  ['writeFile', 'write'],
  ['copyFile', 'write'],
  ['link', 'rename'],
  ['rename', 'rename'],
  ['rm', 'unlink'],
] as const
/** Of a file handle. */
const METHODS = [
  ['write', 'write'],
  ['sync', 'fsync'],
  ['close', 'close'],
] as const

type Method = (...args: never[]) => unknown

/**
 * Counts the calls by which this process opens and changes files of one directory, and fails or kills it at a chosen one.
 * Works for every module that imports `node:fs` or `node:fs/promises`, bundled or not.
 *
 * @returns puts everything back, and returns whether the fault occurred.
 */
export function injectFault(directory: string, fault: Fault): () => boolean {
  const root = resolve(directory) + sep
  const inside = (path: unknown) => typeof path === 'string' && (resolve(path) + sep).startsWith(root)
  let calls = 0

  const run = (call: Call, real: () => unknown): unknown => {
    if ((fault.call !== undefined && fault.call !== call) || ++calls !== fault.n) return real()
    if (fault.kind === 'kill-before') return process.kill(process.pid, 'SIGKILL')
    if (fault.kind === 'kill-after') {
      const result = real()
      if (!(result instanceof Promise)) return process.kill(process.pid, 'SIGKILL')
      return result.finally(() => process.kill(process.pid, 'SIGKILL'))
    }
    // A close that fails has closed all the same.
    const closed = call === 'close' ? real() : undefined
    const error = Object.assign(new Error(`EIO: i/o error, ${call}`), { code: 'EIO', errno: -5, syscall: call })
    if (closed instanceof Promise) return closed.then(() => Promise.reject(error))
    throw error
  }

  const restores: (() => void)[] = []
  const patch = (target: object, name: string, replaced: (real: () => unknown, first: unknown) => unknown) => {
    const methods = target as Record<string, Method>
    const original = methods[name]!
    methods[name] = function (this: object, ...args: never[]) {
      return replaced(() => original.apply(this, args), args[0])
    }
    restores.push(() => {
      methods[name] = original
    })
  }

  patch(promises, 'open', async (real, path) => {
    if (!inside(path)) return real()
    const file = (await run('open', real)) as FileHandle
    for (const [name, call] of METHODS) patch(file, name, async (method) => run(call, method))
    return file
  })
  for (const [name, call] of FUNCTIONS) {
    patch(promises, name, async (real, path) => (inside(path) ? run(call, real) : real()))
  }
  syncBuiltinESMExports()
  return () => {
    for (const restore of restores) restore()
    syncBuiltinESMExports()
    return calls >= fault.n
  }
}
