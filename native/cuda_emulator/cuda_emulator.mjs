// Builds the CUDA emulator and opens it for tests. See README.md.
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('.', import.meta.url))
const require = createRequire(import.meta.url)

/** Folder of the build; git ignores it. */
const buildFolder = (sanitize) => join(source, 'build', sanitize ? sanitize.replace(',', '_') : 'release')

function nodeApiHeaders() {
  try {
    return require('node-api-headers').include_dir
  } catch {
    return join(dirname(process.execPath), '../include/node')
  }
}

function missingTool() {
  const runs = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
  if (process.platform !== 'linux') return 'the CUDA emulator is for Linux only'
  if (!runs('cmake')) return 'CMake was not found'
  const compilers = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++']
  return compilers.some(runs) ? null : 'no C++ compiler was found'
}

/** Runs `build` while no other process does: test files of several packages may want the libraries at once. */
function alone(lock, build) {
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (holderEnded(lock)) rmSync(lock, { force: true })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    }
  }
  try {
    return build()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** Whether the process that made `lock` was killed. One that is still writing its id counts as alive for a second. */
function holderEnded(lock) {
  try {
    const holder = Number(readFileSync(lock, 'utf8'))
    if (holder === 0) return Date.now() - statSync(lock).mtimeMs > 1000
    process.kill(holder, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/**
 * Builds the libraries that are out of date. Returns the folder of the build, or as `problem` the reason why this
 * machine cannot build them: tests that need the libraries are then skipped with that message. Throws if the compiler
 * fails. CUDNN_RNN_CUDA_EMULATOR_SANITIZE names the sanitizers of a whole test run.
 */
export function buildCudaEmulator({
  sanitize = process.env.CUDNN_RNN_CUDA_EMULATOR_SANITIZE ?? '',
  tests = false,
} = {}) {
  const build = buildFolder(sanitize)
  const upToDate = upToDateFile(build, tests)
  if (upToDate !== undefined && existsSync(upToDate)) return { build }
  const problem = missingTool()
  if (problem !== null) return { problem }
  mkdirSync(dirname(build), { recursive: true })
  alone(`${build}.lock`, () => {
    const options = [`-DEMULATOR_SANITIZE=${sanitize}`, `-DNODE_API_HEADERS=${nodeApiHeaders()}`]
    if (tests) options.push('-DEMULATOR_TESTS=ON')
    for (const command of [
      ['-S', source, '-B', build, ...options],
      ['--build', build, '--parallel', '2'],
    ]) {
      const { status, stdout, stderr } = spawnSync('cmake', command, { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 })
      if (status !== 0) throw new Error(`Cannot build the CUDA emulator:\n${stdout}${stderr}`)
    }
  })
  if (upToDate !== undefined) writeFileSync(upToDate, '')
  return { build }
}

/** Exists once this test run has built `build`: CMake takes a second to find that nothing is out of date. */
function upToDateFile(build, tests) {
  const run = process.env.CUDNN_RNN_TEST_RUN
  return run === undefined ? undefined : join(run, `${basename(build)}-emulator${tests ? '-tests' : ''}`)
}

/** One folder of libraries, and the controls of the emulated machine. */
class CudaEmulator {
  #control

  constructor(build, folder) {
    this.folder = folder
    this.#control = require(join(build, 'lib/emulator_control.node'))
    this.#control.open(folder)
  }

  /** Changes the machine: `name=value` pairs with `;` between them. */
  configure(settings) {
    this.#control.configure(settings)
  }

  /** Live objects, the number of calls of each symbol, and violated rules. */
  report() {
    return JSON.parse(this.#control.report())
  }
}

/**
 * The libraries of cuDNN `version` (9, on CUDA 13, or 8, on CUDA 12), enabled in this process. Both versions share the machine
 * of the process. `{ problem }` if they cannot be built.
 */
export function openCudaEmulator(version = 9) {
  const { build, problem } = buildCudaEmulator()
  return problem === undefined ? new CudaEmulator(build, join(build, 'lib', `cudnn${version}`)) : { problem }
}

/** Renames `symbol` in a library's bytes, so that looking it up finds nothing. */
function hideSymbol(bytes, symbol) {
  const name = Buffer.from(`\0${symbol}\0`)
  for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) bytes[at + 1] ^= 0x20
}

/**
 * Copies the libraries in `folder` to a new temporary folder, without the files and the symbols named, as in a broken
 * installation.
 */
export function copyLibraries(folder, { withoutFiles = [], withoutSymbols = [] } = {}) {
  const copy = mkdtempSync(join(tmpdir(), 'cuda-emulator-'))
  for (const file of readdirSync(folder)) {
    if (withoutFiles.includes(file)) continue
    copyFileSync(join(folder, file), join(copy, file))
    if (withoutSymbols.length === 0) continue
    const bytes = readFileSync(join(copy, file))
    for (const symbol of withoutSymbols) hideSymbol(bytes, symbol)
    writeFileSync(join(copy, file), bytes)
  }
  return copy
}
