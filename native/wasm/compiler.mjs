// clang and wasm-ld from npm.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { commands } from '@yowasp/clang'

const require = createRequire(import.meta.url)

export const compilerVersion = readFileSync(
  require.resolve('@yowasp/clang').replace(/gen.bundle\.js$/, 'package.json'),
  'utf8',
).match(/"version": "(.*)"/)[1]

const streams = {
  stdout: () => undefined,
  stderr: (bytes) => bytes && process.stderr.write(bytes),
  fetchProgress: () => undefined,
}

/** The file `output` of a run of the compiler over `tree`. Its messages are on stderr. */
async function outputOf(output, args, tree) {
  try {
    const files = await commands['clang++']([...args, '-o', output], tree, streams)
    return files[output]
  } catch (error) {
    // The error of a failed run has the contents of all files, which Node.js would print.
    if (error.files === undefined) throw error
    throw new Error(`clang++ ended with status ${error.code}`)
  }
}

/** The object of one unit of `tree`; with the flag -S its assembly. */
export async function compileUnit(unit, flags, tree) {
  return outputOf('unit.o', ['-c', ...flags, unit], tree)
}

const LINK_FLAGS = [
  '--target=wasm32-wasip1',
  '-mexec-model=reactor',
  '-Wl,--initial-memory=1048576',
  '-Wl,--max-memory=4294967296',
].concat(
  // An overflow of the stack traps instead of overwriting data.
  ['-Wl,--stack-first', '-Wl,-z,stack-size=262144', '-Wl,--export=__stack_pointer'],
  // Threads share one memory, which JavaScript makes. The objects of the C++ library use no atomic operations and are not
  // marked as made for threads.
  ['-Wl,--shared-memory', '-Wl,--import-memory', '-Wl,--export-memory', '-Wl,--no-check-features'],
  ['-Wl,--gc-sections', '-Wl,-O2'],
)

/** The module of all objects. `flags` are further ones of the driver: `-Wl,--strip-all` drops the names of functions. */
export async function link(objects, flags = ['-Wl,--strip-all']) {
  const names = objects.map((_, index) => `unit_${index}.o`)
  const tree = Object.fromEntries(objects.map((object, index) => [names[index], new Uint8Array(object)]))
  return outputOf('out.wasm', [...LINK_FLAGS, ...flags, ...names], tree)
}
