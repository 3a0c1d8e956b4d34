/** `previous` is the checksum of the bytes before these, 0 where there are none. */
export type Crc32c = (bytes: Uint8Array, previous?: number) => number

/** The least of Node's `process` that is needed; a browser has none of it. */
interface NodeProcess {
  getBuiltinModule?(name: 'module'): { createRequire(path: string): (name: string) => unknown } | undefined
}

/** `@node-rs/crc32`, where this is Node.js and has a build for the platform; else undefined. */
export function loadNativeCrc32c(): Crc32c | undefined {
  try {
    // Not an import: browsers, which have no such module, load this file too.
    const { process } = globalThis as { process?: NodeProcess }
    const require = process?.getBuiltinModule?.('module')?.createRequire(import.meta.url)
    return (require?.('@node-rs/crc32') as { crc32c: Crc32c } | undefined)?.crc32c
  } catch {
    return undefined
  }
}
