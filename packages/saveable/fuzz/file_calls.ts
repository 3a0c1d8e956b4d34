import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { resolve, sep } from 'node:path'

export const CALLS = ['open', 'write', 'fsync', 'rename', 'unlink', 'close'] as const
export type Call = (typeof CALLS)[number]

/** One call by which a process opens or changes a file. */
export interface FileCall {
  /** Its kind: some functions open, write and close. */
  readonly call: Call
  /** Name of the function or method. */
  readonly name: string
  readonly args: readonly unknown[]
  /** The handle whose method it is. */
  readonly file?: FileHandle | undefined
}

/** Functions whose first argument is the path. */
const FUNCTIONS = [
  ['open', 'open'],
  ['readFile', 'open'],
  ['mkdir', 'rename'],
  ['writeFile', 'write'],
  ['link', 'rename'],
  ['rename', 'rename'],
  ['rm', 'unlink'],
] as const
/** Methods of a file handle. */
const METHODS = [
  ['write', 'write'],
  ['sync', 'fsync'],
  ['close', 'close'],
] as const

type Method = (...args: unknown[]) => unknown

/**
 * Passes the calls by which this process opens and changes files of one directory to `run`, which makes them or not. Works
 * for every module that imports `node:fs/promises`, bundled or not.
 *
 * @returns puts everything back.
 */
export function interceptCalls(directory: string, run: (call: FileCall, real: () => unknown) => unknown): () => void {
  const root = resolve(directory) + sep
  const inside = (path: unknown) => typeof path === 'string' && (resolve(path) + sep).startsWith(root)
  const restores: (() => void)[] = []
  const patch = (target: object, name: string, replaced: (real: () => unknown, args: unknown[]) => unknown) => {
    const methods = target as Record<string, Method>
    const original = methods[name]!
    methods[name] = function (this: object, ...args: unknown[]) {
      return replaced(() => original.apply(this, args), args)
    }
    restores.push(() => {
      methods[name] = original
    })
  }

  for (const [name, call] of FUNCTIONS) {
    patch(promises, name, async (real, args) => {
      if (!inside(args[0])) return real()
      const result = await run({ call, name, args }, real)
      if (name !== 'open') return result
      const file = result as FileHandle
      for (const [method, kind] of METHODS) {
        patch(file, method, async (own, values) => run({ call: kind, name: method, args: values, file }, own))
      }
      return file
    })
  }
  syncBuiltinESMExports()
  return () => {
    for (const restore of restores) restore()
    syncBuiltinESMExports()
  }
}
