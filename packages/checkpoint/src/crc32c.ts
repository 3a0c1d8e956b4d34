import { type Crc, crc32c as tabledCrc32c } from '@cudnn-rnn/checkpoint/files'

/** The part of Node's `process` that this file uses; browsers lack it. */
interface NodeProcess {
  getBuiltinModule?(name: 'module'): { createRequire(path: string): (name: string) => unknown } | undefined
}

/** `@node-rs/crc32`, if this is Node.js and the package has a build for the platform; else undefined. */
function loadNativeCrc32c(): Crc | undefined {
  try {
    // Not an import: browsers, which lack the module, load this file too.
    const { process } = globalThis as { process?: NodeProcess }
    const require = process?.getBuiltinModule?.('module')?.createRequire(import.meta.url)
    return (require?.('@node-rs/crc32') as { crc32c: Crc } | undefined)?.crc32c
  } catch {
    return undefined
  }
}

let chosen: Crc | undefined

/**
 * CRC-32C by the CPU's instruction if `@node-rs/crc32` has a build for the platform, which is many times faster, else by
 * tables. The addon is loaded with the first checksum.
 */
export const crc32c: Crc = (bytes, previous) => {
  chosen ??= loadNativeCrc32c() ?? tabledCrc32c
  return chosen(bytes, previous)
}
