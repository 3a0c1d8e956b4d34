// The C++ of native/: clang-format over every file, clang-tidy over every file that the build compiles.
//   node scripts/checks/check_cpp.mjs [format | tidy | callbacks]… [--fix]
// callbacks: Node-API's are registered in native/common/callbacks.h, or by functions of node-addon-api that guard them.
// What clang-tidy found nothing in is remembered by its contents in node_modules/.cache, so that a second run checks only what
// changed. Each tool is skipped with a message if its pinned version is missing.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { filesBelow, readJson } from '../workspace.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
/** Other versions format otherwise. */
const LLVM = 19
const FOLDERS = [
  'native/common',
  'native/cpu',
  'native/wasm',
  'native/cudnn',
  'native/machine_rates',
  'native/mpi',
  'native/onednn_runner',
]
/** Addons whose files clang-tidy checks. */
const ADDONS = ['native/cpu', 'native/cudnn']
const INCLUDED = ['native/cpu/src', 'native/cpu/test', 'native/cudnn/src', 'native/common']
/** The kernels over other vectors: the same templates as kernels_portable.cc, which take a minute each. */
const SAME_AS_PORTABLE = /kernels_(avx2|avx512|neon)\.cc$/
const CACHE = join(root, 'node_modules/.cache/clang-tidy')

const files = FOLDERS.flatMap((folder) => filesBelow(root, join(root, folder), /\.(cc|h)$/))

/** The command `name` of the pinned version, or undefined after a message. */
function tool(name) {
  for (const command of [`${name}-${LLVM}`, name]) {
    const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' })
    if (new RegExp(`version ${LLVM}\\.`).test(stdout ?? '')) return command
  }
  console.log(`${name}: skipped, as version ${LLVM} was not found (Debian: ${name}-${LLVM})`)
  return undefined
}

function format() {
  const clangFormat = tool('clang-format')
  if (clangFormat === undefined) return true
  const mode = process.argv.includes('--fix') ? ['-i'] : ['--dry-run', '--Werror']
  const { status } = spawnSync(clangFormat, [...mode, ...files], { cwd: root, stdio: 'inherit' })
  console.log(`clang-format: ${files.length} files`)
  return status === 0
}

/** A file with every header of native/ that it includes, and the other inputs of clang-tidy's result. */
function fingerprint(file, command) {
  const hash = createHash('sha256')
    .update(`${LLVM} ${command}`)
    .update(readFileSync(join(root, '.clang-tidy')))
  const seen = new Set()
  const add = (path) => {
    if (seen.has(path)) return
    seen.add(path)
    const source = readFileSync(path, 'utf8')
    hash.update(source)
    for (const [, name] of source.matchAll(/^#include "([^"]+)"/gm)) {
      for (const folder of INCLUDED) {
        if (existsSync(join(root, folder, name))) add(join(root, folder, name))
      }
    }
  }
  add(file)
  return hash.digest('hex')
}

function tidy() {
  const clangTidy = tool('clang-tidy')
  if (clangTidy === undefined) return true
  return ADDONS.map((addon) => tidyAddon(clangTidy, addon)).every(Boolean)
}

/** Checks the files that one addon is compiled from, each alone: the build compiles them in groups. */
function tidyAddon(clangTidy, addon) {
  const build = join(addon, 'build/tidy')
  const options = ['-DCMAKE_UNITY_BUILD=OFF', '-DCMAKE_BUILD_TYPE=Release', '--log-level=WARNING']
  const configured = spawnSync('cmake', ['-S', addon, '-B', build, ...options], { cwd: root, stdio: 'inherit' })
  if (configured.error !== undefined) {
    console.log(`clang-tidy: ${addon} skipped, as CMake was not found`)
    return true
  }
  if (configured.status !== 0) return false
  const database = join(root, build, 'compile_commands.json')
  const ours = readJson(database).filter(
    ({ file }) => !relative(root, file).startsWith('..') && !SAME_AS_PORTABLE.test(file),
  )
  const changed = ours
    .map(({ file, command }) => ({ file, mark: join(CACHE, fingerprint(file, command)) }))
    .filter(({ file, mark }) => !file.includes('node_modules') && !existsSync(mark))
  // xargs runs as many at a time as there are processors.
  const { status } = spawnSync(
    'xargs',
    ['-P', String(availableParallelism()), '-n', '1', clangTidy, '--quiet', '-p', join(root, build)],
    { cwd: root, input: changed.map(({ file }) => file).join('\n'), stdio: ['pipe', 'inherit', 'ignore'] },
  )
  if (status === 0 || changed.length === 0) {
    mkdirSync(CACHE, { recursive: true })
    for (const { mark } of changed) writeFileSync(mark, '')
  }
  console.log(`clang-tidy: ${addon}: ${changed.length} of ${ours.length} files had changed`)
  return status === 0 || changed.length === 0
}

const CALLBACKS =
  /\bnapi_(?:create_(?:function|threadsafe_function|async_work|external\w*)|add_\w*cleanup_hook|add_finalizer|wrap|set_instance_data)\s*\(|\b(?:Typed)?ThreadSafeFunction\b|\bAddCleanupHook\b/g

function callbacks() {
  const found = files
    .filter((file) => /\/src\//.test(file))
    .flatMap((file) =>
      Array.from(readFileSync(join(root, file), 'utf8').matchAll(CALLBACKS), ([name]) => `${file}: ${name}`),
    )
  for (const each of found)
    console.error(`${each} belongs in native/common/callbacks.h, which lets no exception leave a callback`)
  console.log(`callbacks: ${files.length} files`)
  return found.length === 0
}

const checks = { format, tidy, callbacks }
const named = process.argv.slice(2).filter((argument) => argument in checks)
const chosen = named.length > 0 ? named : Object.keys(checks)
if (!chosen.map((name) => checks[name]()).every(Boolean)) process.exitCode = 1
