// Compiles the kernels of native/cpu to WebAssembly with clang from npm: no tool chain of the machine is used.
//
//   node build.mjs           dist/{relaxed,simd128}{,_float64}.wasm, and the same compressed and in base64 as .js
//   node build.mjs --lock    also writes their SHA-256 to modules.lock.json; --check compares it
//
// Objects are kept in build/objects under the hash of the code that they are compiled of, with which flags. Several threads compile (compile_units.mjs),
// because a compiler that runs in V8 uses one core; in one process they share the optimized code of the compiler.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { DRIVER_FLAGS, FLOAT64_FLAGS, KERNEL_FLAGS, RELAXED_KERNEL_FLAGS } from './compile_flags.mjs'
import { compilerVersion, link } from './compiler.mjs'
import { findMemoryFlags, HAS_MAXIMUM } from './memory_flags.mjs'

// The compiler runs for seconds: V8 optimizes only the functions of it that run often. By default it optimizes so many that
// the seven units take 116 s of processor time instead of 90 to 100 (Node.js 20, Zen 3).
setFlagsFromString('--wasm-tiering-budget=30000000')

const folder = fileURLToPath(new URL('.', import.meta.url))
const cpu = join(folder, '../cpu/src')

/** Files of native/cpu that only an addon needs: threads, and the other instruction sets. */
const NOT_COMPILED = [
  'dense/tensor_ops.cc',
  'kernels/instruction_sets.cc',
  'kernels/bfloat16_dots_avx512.cc',
  'kernels/bfloat16_matrices_neon.cc',
  'kernels/int8_dots_avx512.cc',
  'kernels/int8_dots_avx_vnni.cc',
  'kernels/int8_dots_neon.cc',
  'kernels/int8_matrices_neon.cc',
  'kernels/kernels_avx2.cc',
  'kernels/kernels_avx512.cc',
  'kernels/kernels_neon.cc',
  'kernels/kernels_portable.cc',
  'threads/job_queue.cc',
  'threads/physical_cores.cc',
  'threads/wait_on_address_windows.cc',
  'weights/quantized_slot.cc',
]
const CPU_FOLDERS = ['kernels', 'memory', 'threads', 'weights', 'dense', 'passes']
const KERNELS = 'kernels/kernels_wasm.cc'

// The exports choose the element type; the linker leaves out all that they do not reach.
const MODULES = [
  { name: 'relaxed', kernelFlags: RELAXED_KERNEL_FLAGS, exportFlags: DRIVER_FLAGS },
  { name: 'relaxed_float64', kernelFlags: RELAXED_KERNEL_FLAGS, exportFlags: FLOAT64_FLAGS },
  { name: 'simd128', kernelFlags: KERNEL_FLAGS, exportFlags: DRIVER_FLAGS },
  { name: 'simd128_float64', kernelFlags: KERNEL_FLAGS, exportFlags: FLOAT64_FLAGS },
]
/** The most bytes of a module after gzip: a page loads one. */
const MOST_COMPRESSED_BYTES = 90_000

/** C++ files below `path`, by their path from there. */
function sourcesOf(path, folders) {
  const files = folders.flatMap((name) => readdirSync(join(path, name)).map((file) => join(name, file)))
  return files.filter((file) => /\.(cc|h)$/.test(file) || path.endsWith('std')).sort()
}

const tree = { cpu: {}, src: {}, std: {} }
for (const name of CPU_FOLDERS) tree.cpu[name] = {}
for (const file of sourcesOf(cpu, CPU_FOLDERS)) {
  const [name, base] = file.split(/[/\\]/)
  if (!NOT_COMPILED.includes(`${name}/${base}`)) tree.cpu[name][base] = readFileSync(join(cpu, file), 'utf8')
}
for (const name of ['src', 'std']) {
  for (const file of sourcesOf(join(folder, name), ['.'])) {
    tree[name][basename(file)] = readFileSync(join(folder, name, file), 'utf8')
  }
}

// The files of a folder are one unit: most of a small file's time goes to the headers of the C++ library.
const isUnit = (file) => file.endsWith('.cc')
const unitsOf = (name) =>
  Object.keys(tree.cpu[name])
    .map((file) => `${name}/${file}`)
    .filter((file) => isUnit(file) && file !== KERNELS)
const units = {
  state: ['kernels', 'memory', 'threads', 'weights'].flatMap(unitsOf),
  dense: unitsOf('dense'),
  passes: unitsOf('passes'),
  exports: Object.keys(tree.src).filter(isUnit),
}
tree.units = Object.fromEntries(
  Object.entries(units).map(([name, files]) => [`${name}.cc`, files.map((file) => `#include "${file}"\n`).join('')]),
)
const EXPORTS = 'units/exports.cc'
const drivers = Object.keys(tree.units).map((file) => `units/${file}`)

const textOf = (file) => file.split('/').reduce((place, name) => place?.[name], tree)
const INCLUDE = /^\s*#include ["<]([^">]+)[">]/gm
const PLACES = ['std', 'src', 'cpu']

/** Adds `file` and all files of the tree that it includes to `found`. */
function withIncludes(file, found = new Set()) {
  if (found.has(file)) return found
  found.add(file)
  for (const [, name] of textOf(file).matchAll(INCLUDE)) {
    // <memory> is a header of C++, and cpu/memory a folder.
    const place = PLACES.find((folder) => typeof textOf(`${folder}/${name}`) === 'string')
    if (place !== undefined) withIncludes(`${place}/${name}`, found)
  }
  return found
}

/** The code of a file: a change of a comment compiles nothing. No string of these sources contains two slashes. */
const codeOf = (file) => textOf(file).replaceAll(/\s*\/\/.*$/gm, '')

const objects = join(folder, 'build/objects')
const objectOf = (unit, flags) => {
  const files = [...withIncludes(unit)].map((file) => [file, codeOf(file)])
  const hash = createHash('sha256').update(JSON.stringify([compilerVersion, flags, files]))
  return join(objects, `${hash.digest('hex')}.o`)
}

/** Compiles units until none is left; the next one is taken when a thread is free. */
function compileOnOneThread(left) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(join(folder, 'compile_units.mjs'), { workerData: tree })
    const next = () => {
      const job = left.shift()
      if (job !== undefined) return worker.postMessage(job)
      worker.terminate()
      resolve()
    }
    worker.on('message', next)
    worker.on('error', reject)
    next()
  })
}

/**
 * Anything else that is imported is a part of the C++ library that calls the system: a console, randomness.
 * Node.js 20 cannot compile relaxed SIMD, but the other module has the same objects but for the kernels.
 */
function checkImports(name, module) {
  if (!WebAssembly.validate(module)) {
    if (name.startsWith('simd128')) throw new Error(`Cannot use ${name}.wasm as it is not valid`)
    return
  }
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(module))
  const names = imports.map((of) => `${of.module}.${of.name}`).sort()
  if (names.join() !== 'env.memory,env.now') throw new Error(`Cannot use ${name}.wasm as it imports ${names}`)
}

/** The objects of a module, in the order of the linker's arguments. */
function jobsOf({ kernelFlags, exportFlags }) {
  const flagsOf = (unit) => (unit === EXPORTS ? exportFlags : DRIVER_FLAGS)
  const jobs = [
    { unit: `cpu/${KERNELS}`, flags: kernelFlags },
    ...drivers.map((unit) => ({ unit, flags: flagsOf(unit) })),
  ]
  return jobs.map((job) => ({ ...job, object: objectOf(job.unit, job.flags) }))
}

// Modules share most objects.
const jobs = [...new Map(MODULES.flatMap(jobsOf).map((job) => [job.object, job])).values()]
mkdirSync(objects, { recursive: true })
const left = jobs.filter(({ object }) => !existsSync(object))
const began = performance.now()
const count = left.length
const threads = Math.min(count, availableParallelism())
await Promise.all(Array.from({ length: threads }, () => compileOnOneThread(left)))
if (count > 0) console.log(`Compiled ${count} files in ${((performance.now() - began) / 1000).toFixed(0)} s`)
// Only objects of this state are kept.
const current = new Set(jobs.map(({ object }) => basename(object)))
for (const file of readdirSync(objects)) if (!current.has(file)) rmSync(join(objects, file))

const out = join(folder, 'dist')
mkdirSync(out, { recursive: true })
const hashes = {}
for (const of of MODULES) {
  const { name } = of
  const module = await link(jobsOf(of).map(({ object }) => readFileSync(object)))
  // One module serves executors with one thread, whose memory is not shared, and with several: it says of its memory
  // whether that is shared, in one byte.
  const memoryFlagsAt = findMemoryFlags(module)
  if (memoryFlagsAt === undefined) throw new Error(`Cannot use ${name}.wasm as it imports no memory`)
  module[memoryFlagsAt] = HAS_MAXIMUM
  checkImports(name, module)
  hashes[name] = createHash('sha256').update(module).digest('hex')
  writeFileSync(join(out, `${name}.wasm`), module)
  const compressed = gzipSync(module, { level: 9 })
  if (compressed.length > MOST_COMPRESSED_BYTES) {
    throw new Error(
      `Cannot use ${name}.wasm as it has ${compressed.length} bytes after gzip: ${MOST_COMPRESSED_BYTES} at most`,
    )
  }
  const text = compressed.toString('base64')
  writeFileSync(join(out, `${name}.js`), `export const moduleBytes = '${text}'\n`)
  console.log(`${name}.wasm: ${module.length} bytes, ${compressed.length} after gzip, sha256 ${hashes[name]}`)
}

const lock = join(folder, 'modules.lock.json')
const state = `${JSON.stringify({ compiler: compilerVersion, sha256: hashes }, null, 2)}\n`
if (process.argv.includes('--lock')) writeFileSync(lock, state)
if (process.argv.includes('--check') && readFileSync(lock, 'utf8') !== state) {
  throw new Error(
    'modules.lock.json is of other modules: run `node native/wasm/build.mjs --lock` where their sources were changed',
  )
}
