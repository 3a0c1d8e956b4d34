// Runs tests on platforms that this machine emulates, by default all: `node scripts/testing/test_platforms.mjs [PLATFORM]…`
//   win32-x64         native/cpu, the readers and writers of files and the program, under wine. Debian: the packages of scripts/build/cross.mjs, wine64
//   linux-arm64-gnu   native/cpu under qemu. Debian: the same, qemu-user
//   linux-x64-musl    native/cpu in Bun. Debian: the same, musl-tools
//   linux-s390x-gnu   the readers and writers on a big-endian processor, under qemu. Debian: libstdc++6-s390x-cross qemu-user
// Node.js and Bun come from npm. A platform whose tools are missing is skipped, and printed.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleTests } from '../build/cross/bundle_tests.mjs'
import { checkAddon } from '../build/cross/check_addon.mjs'
import { missingRuntime, nodeOf, runOn } from '../build/cross/runtimes.mjs'
import { buildAddon, missingTools } from '../build/cross/targets.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { filesBelow } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
const source = join(root, 'native/cpu')
const testsOf = (folder, names) => names.split(' ').map((name) => `packages/${folder}/test/${name}.test.ts`)
const allTestsOf = (folder) => filesBelow(root, `${folder}/test`, /(?<!browser)\.test\.ts$/)
const EXECUTOR = testsOf('cpu', 'activations bound_steps native_counts quantized_weights random_sizes shared_memory')
/** Packages that read and write files. */
const FILES = ['packages/checkpoint', 'packages/interop', 'packages/saveable'].flatMap(allTestsOf)

/** By platform: the addon that is built for it, and the tests. */
const PLATFORMS = {
  'win32-x64': {
    addon: 'win32-x64',
    tests: [...testsOf('cpu', 'conformance'), ...EXECUTOR, ...FILES, ...allTestsOf('apps/cli')],
    // It follows no symbolic links.
    without: ['--without', '\\blinks?\\b|not a regular file'],
  },
  'linux-arm64-gnu': { addon: 'linux-arm64-gnu', tests: EXECUTOR },
  'linux-x64-musl': {
    addon: 'linux-x64-musl',
    tests: [...testsOf('cpu', 'conformance'), ...EXECUTOR],
    // Bun has no gc in a new context, and another message for a tensor that is sent to a worker.
    without: ['--without', 'stats\\(\\) counts live objects|send a tensor to a worker'],
  },
  'linux-s390x-gnu': {
    tests: FILES,
    // HDF5 is refused there, Node.js 20.11 inflates no zip entries, and qemu shows no starts of threads.
    without: [
      '--without',
      'SimpleRNN without|encodeKerasArchive|share their elements|compressed\\.npz|Stable-Baselines3|of Silero VAD|start of its thread',
    ],
  },
}

ownTemporaryFolder()

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PLATFORMS)
for (const name of names) {
  const { addon, tests, without = [] } = PLATFORMS[name]
  const missing = [...missingRuntime(name), ...(addon === undefined ? [] : missingTools(addon))]
  if (missing.length > 0) console.log(`${name}: skipped, as ${missing.join(', ')} was not found`)
  else await testOn(name, addon, tests, without)
}

async function testOn(name, addon, tests, without) {
  const work = join(tmpdir(), name)
  mkdirSync(work)
  // The place where packages/cpu's loader looks for it.
  const staged = addon && join(source, 'prebuilds', addon)
  try {
    if (staged !== undefined) {
      const built = buildAddon(addon, join(work, 'addon'))
      const problems = checkAddon(addon, built)
      if (problems.length > 0) throw new Error(`${name}: ${problems.join('; ')}`)
      mkdirSync(staged, { recursive: true })
      copyFileSync(built, join(staged, 'cudnn_rnn_cpu.node'))
    }
    await bundleTests(join(work, 'tests'), tests)
    const log = join(work, 'log')
    const { passed, ending } = runOn(
      name,
      (path) => [path(join(work, 'tests/run.js')), '--root', path(root), '--log', path(log), ...without],
      { cwd: root, log: join(work, 'output'), work, timeout: 15 * 60_000 },
    )
    console.log(`${name}, ${nodeOf(name)}\n${existsSync(log) ? readFileSync(log, 'utf8') : 'no test ran'}`)
    if (!passed) throw new Error(ending)
  } finally {
    if (staged !== undefined) rmSync(staged, { recursive: true, force: true })
  }
}
