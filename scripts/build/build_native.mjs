// Compiles the addons under native/ with cmake-js and stages each as prebuilds/<triple>/<name>.node, where its loader
// looks. If a C++ tool chain is missing, or an addon does not compile, that is said and is not an error: the executors in TypeScript
// go on. In CI (`CI=true`) an addon that a platform has must compile if there are tools, with CUDNN_RNN_REQUIRE_NATIVE=1 all must.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeForeignBuild } from './foreign_cmake_cache.mjs'
import { ADDONS, thisPlatform } from './platforms.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { readJson } from '../workspace.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))
// `node scripts/build/build_native.mjs [--debug] [name…]`: the addons named, or all of them.
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const debug = process.argv.includes('--debug')

const runs = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0

/** The reason why nothing can be compiled here, or null. */
function missingTool() {
  if (!runs('cmake')) return 'CMake was not found'
  const compilers = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++']
  if (process.platform !== 'win32' && !compilers.some(runs)) return 'no C++ compiler was found'
  return null
}

/** Compiles native/`name`; returns the error, or null. */
function compile(name) {
  const folder = join(root, 'native', name)
  const cli = createRequire(join(folder, 'package.json')).resolve('cmake-js/bin/cmake-js')
  const out = debug ? 'build/debug' : 'build/release'
  const configuration = debug ? 'Debug' : 'Release'
  removeForeignBuild(join(folder, out), folder)
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [cli, 'compile', '--config', configuration, '--out', out, '--parallel', '2', '--log-level', 'warn'],
    { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 },
  )
  if (status !== 0) return `${stdout}${stderr}`
  const { binary } = readJson(join(folder, 'package.json'))
  const file = `${binary.module_name}.node`
  const built = [join(folder, out, configuration, file), join(folder, out, file)].find(existsSync)
  if (built === undefined) return `cmake-js made no ${file}`
  const staged = join(folder, 'prebuilds', thisPlatform())
  mkdirSync(staged, { recursive: true })
  // A new file, there from one moment to the next: a process that has loaded the old one keeps it, and others may start meanwhile.
  const copy = join(staged, `${file}.new`)
  copyFileSync(built, copy)
  renameSync(copy, join(staged, file))
  return null
}

const native = join(root, 'native')
const addons = (existsSync(native) ? readdirSync(native) : [])
  // The CUDA emulator has a CMakeLists.txt too, but no addon: its tests build it.
  .filter((name) => existsSync(join(native, name, 'package.json')))
  .filter((name) => readJson(join(native, name, 'package.json')).binary !== undefined)
  .filter((name) => names.length === 0 || names.includes(name))
const missing = addons.length > 0 ? missingTool() : null
/** Whether it is an error that an addon is not built. */
function isRequired(name) {
  if (process.env.CUDNN_RNN_REQUIRE_NATIVE === '1') return true
  return process.env.CI === 'true' && missing === null && ADDONS[name].includes(thisPlatform())
}

let failed = false
for (const name of addons) {
  const problem = missing ?? compile(name)
  if (problem === null) console.log(`Native ${name}: built for ${thisPlatform()}`)
  else if (missing !== null) console.log(`Native ${name}: not built, as ${missing}; other executors take its place`)
  else console.error(`Native ${name}: the build failed; other executors take its place\n${problem}`)
  failed ||= problem !== null && isRequired(name)
}
process.exitCode = failed ? 1 : 0
