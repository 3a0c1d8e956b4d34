// The addon native/cpu for other platforms, from one machine: node scripts/build/cross.mjs [--twice | --unoptimized] [--out FOLDER] [PLATFORM…]
// Builds it for the platforms named, by default all, checks each file, and leaves FOLDER/cpu/prebuilds/<platform>/ with SHA256SUMS
// (default: .cross), which platform_packages.mjs stages. Objects are kept in native/cpu/build/cross. --twice builds each in a
// new folder besides, and compares the bytes. --unoptimized checks files that are compiled in a third of the time, without the
// kernels of vectors and for macOS without the C++ library, and leaves none: the other sources have the names that a file exports
// and needs.
// Debian 12: cmake ninja-build g++ g++-aarch64-linux-gnu clang-19 lld-19 llvm-19 g++-mingw-w64-x86-64-posix
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkAddon } from './cross/check_addon.mjs'
import { buildAddon, keptFolder, missingTools, TARGETS } from './cross/targets.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { twice: { type: 'boolean' }, unoptimized: { type: 'boolean' }, out: { type: 'string', default: '.cross' } },
})
const unknown = positionals.filter((name) => !Object.hasOwn(TARGETS, name))
if (unknown.length > 0) throw new Error(`Not among ${Object.keys(TARGETS).join(', ')}: ${unknown.join(', ')}`)

ownTemporaryFolder()
const out = resolve(values.out)
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
const placeOf = (platform) => `cpu/prebuilds/${platform}/cudnn_rnn_cpu.node`
let [built, failures] = [0, 0]
for (const platform of positionals.length > 0 ? positionals : Object.keys(TARGETS)) {
  const missing = missingTools(platform)
  if (missing.length > 0) {
    console.log(`${platform}: skipped, as ${missing.join(', ')} was not found`)
    continue
  }
  const start = performance.now()
  // A name that shows where a command depends on the characters of folders.
  const folder = values.twice || values.unoptimized ? mkdtempSync(join(tmpdir(), `${platform} it's `)) : undefined
  try {
    const places = values.unoptimized ? [] : [keptFolder(platform)]
    if (folder !== undefined) places.push(folder)
    const [addon, again] = places.map((place) => buildAddon(platform, place, values.unoptimized))
    const bytes = readFileSync(addon)
    const problems = checkAddon(platform, addon, values.unoptimized)
    if (again !== undefined && !readFileSync(again).equals(bytes)) problems.push('two builds differ')
    const place = join(out, placeOf(platform))
    if (!values.unoptimized) {
      mkdirSync(dirname(place), { recursive: true })
      copyFileSync(addon, place)
    }
    built++
    const seconds = ((performance.now() - start) / 1000).toFixed(0)
    const result = problems.length > 0 ? problems.join('; ') : `checked${values.twice ? ', equal twice' : ''}`
    console.log(`${platform}: ${(bytes.length / 1e6).toFixed(2)} MB in ${seconds} s, ${result}`)
    failures += problems.length
  } catch (error) {
    console.error(`${platform}: ${error.message}`)
    failures++
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true })
  }
}
const sums = Object.keys(TARGETS).flatMap((platform) => {
  const place = placeOf(platform)
  return existsSync(join(out, place)) ? `${sha256(readFileSync(join(out, place)))}  ${place}\n` : []
})
if (sums.length > 0) writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
console.log(`Cross build: ${built} of ${Object.keys(TARGETS).length} platforms, ${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1
