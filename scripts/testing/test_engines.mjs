// Runs the wasm and cpu executors on Deno and Bun: the first 50 steps of the demo, and a program that leaves two threads running.
//   node scripts/testing/test_engines.mjs
// npm's packages of both engines have the binaries. An engine that cannot be installed is skipped with a message. Build
// first: npm run build.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmPackage } from '../build/npm_package.mjs'
import { thisPlatform } from '../build/platforms.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const ENGINES = [
  {
    ...{ name: 'Deno', package: '@deno/linux-x64-glibc', release: '2.9.6', binary: 'deno' },
    run: ['run', '--allow-all', '--node-modules-dir=manual'],
  },
  { name: 'Bun', package: '@oven/bun-linux-x64', release: '1.4.5', binary: 'bin/bun', run: ['run'] },
]
const STEPS = 50
/** A step takes some 20 ms. A program that does not end is killed. */
const TIMEOUT_MS = 120_000

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The engine's binary; undefined if npm has no such package here. */
function binaryOf({ package: packageName, release, binary }) {
  try {
    return join(npmPackage(`${packageName}@${release}`), binary)
  } catch {
    return undefined
  }
}

function output(binary, args) {
  const options = { cwd: root, encoding: 'utf8', timeout: TIMEOUT_MS, env: { ...process.env, NO_COLOR: '1' } }
  const { status, signal, stdout, stderr } = spawnSync(binary, args, options)
  if (status !== 0) throw new Error(`status ${status ?? signal}: ${stderr.trim() || stdout.trim()}`)
  return stdout
}

/** Throws unless the bits per character of the demo fall. */
function checkDemo(binary, { run }, folder, backend) {
  const demo = [join(root, 'apps/cli/dist/bin.js'), 'demo', '--backend', backend, '--json', '--steps', String(STEPS)]
  const lines = output(binary, [...run, ...demo, '--out', join(folder, backend)])
    .trim()
    .split('\n')
  const bits = lines.map((line) => JSON.parse(line).bits).filter((value) => value !== undefined)
  if (bits.length < STEPS || !(bits.at(-1) < bits[0])) {
    throw new Error(`the demo: ${bits.length} steps, bits per character from ${bits[0]} to ${bits.at(-1)}`)
  }
  return `${backend} ${bits[0].toFixed(2)} to ${bits.at(-1).toFixed(2)} bits per character`
}

/** Throws unless an executor on two threads computes and the process ends without disposing it. */
function checkThreads(binary, { run }, folder) {
  const program = join(folder, 'threads.mjs')
  writeFileSync(
    program,
    `import { openWasmBackend } from '../dist/index.js'
const backend = await openWasmBackend({ threads: 2 })
const ones = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)).fill(1), shape })
let sum
for (let pass = 0; pass < 200; pass++) {
  const product = backend.ops.linear(ones(64, 128), ones(128, 128), backend.zeros([128]))
  sum = (await product.read()).data[0]
}
console.log(sum, backend.reason)
`,
  )
  const line = output(binary, [...run, program]).trim()
  if (!/^128 .*, 2 threads$/.test(line)) throw new Error(`two threads: ${line}`)
  return line.slice('128 '.length)
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log(`Engines: not tested on ${process.platform}-${process.arch}`)
  process.exit(0)
}
const hasAddon =
  process.env.CUDNN_RNN_REQUIRE_NATIVE === '1' || existsSync(join(root, 'native/cpu/prebuilds', thisPlatform()))
if (!hasAddon) console.log('Engines: cpu is skipped, as its addon is not built')
let failures = 0
for (const engine of ENGINES) {
  const binary = binaryOf(engine)
  if (binary === undefined) {
    console.log(`Engines: ${engine.name} is skipped, as ${engine.package}@${engine.release} cannot be installed`)
    continue
  }
  // In the package: Deno finds dependencies from there.
  const folder = mkdtempSync(join(root, 'packages/wasm/.engines-'))
  try {
    const threads = checkThreads(binary, engine, folder)
    const demos = (hasAddon ? ['wasm', 'cpu'] : ['wasm']).map((backend) => checkDemo(binary, engine, folder, backend))
    console.log(`${engine.name} ${engine.release}: ${threads}; demo: ${demos.join(', ')}`)
  } catch (error) {
    failures++
    console.error(`${engine.name} ${engine.release}: ${error.message}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
process.exitCode = failures === 0 ? 0 : 1
