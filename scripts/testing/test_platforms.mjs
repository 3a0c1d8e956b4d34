// Runs tests on platforms that this machine emulates, by default all: `node scripts/testing/test_platforms.mjs [--every-package] [--from PACKAGE] [--only PART] [--brief] [PLATFORM]…`
//   win32-x64         native/cpu, the readers and writers of files and the program, under wine. Debian: the packages of scripts/build/cross.mjs, wine64
//   linux-arm64-gnu   native/cpu and checkpoints under qemu. Debian: the same, qemu-user
//   linux-x64-musl    native/cpu in Bun. Debian: the same, musl-tools
//   linux-s390x-gnu   the readers and writers on a big-endian processor, under qemu. Debian: libstdc++6-s390x-cross qemu-user
// --every-package runs the tests of all packages on Windows, --from leaves out the packages before one, such as packages/layers, to go on
// with a run that stopped, and --only runs the tests whose path has a part. --brief compiles the kernels in two thirds of the time. Node.js and Bun come from npm. A platform whose tools are
// missing is skipped, and printed.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { bundleTests } from '../build/cross/bundle_tests.mjs'
import { checkAddon } from '../build/cross/check_addon.mjs'
import { missingRuntime, nodeOf, runOn } from '../build/cross/runtimes.mjs'
import { buildAddon, keptFolder, missingTools, run } from '../build/cross/targets.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { filesBelow } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
const source = join(root, 'native/cpu')
const testsOf = (folder, names) => names.split(' ').map((name) => `packages/${folder}/test/${name}.test.ts`)
const allTestsOf = (folder) => filesBelow(root, `${folder}/test`, /(?<!browser)\.test\.ts$/)
const EXECUTOR = testsOf('cpu', 'activations bound_steps native_counts quantized_weights random_sizes shared_memory')
/** Tests that start many programs: for those, see --every-package. */
const STARTS_MANY =
  /\/(crash|concurrent_savers|bin|train_command|classify_command|forecast_command|forecast_run_command)\.test\.ts$/
/** Packages that read and write files. */
const FILES = ['packages/checkpoint', 'packages/interop', 'packages/saveable']
  .flatMap(allTestsOf)
  .filter((file) => !STARTS_MANY.test(file))
const PROGRAM = allTestsOf('apps/cli').filter((file) => !STARTS_MANY.test(file))

/** The tests of all packages, without those of CUDA's emulator, of development tools, and of a module that is imported by its path. */
const EVERYTHING = ['packages', 'apps']
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
  .filter((folder) => existsSync(join(root, folder, 'test')))
  .filter((folder) => !/^packages\/(cudnn|fuzzing)$|^apps\/(bench|gpu_validation|playground|site)$/.test(folder))
  .flatMap(allTestsOf)
  .filter((file) => !file.endsWith('/tensor_scope.node.test.ts'))

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'every-package': { type: 'boolean' },
    from: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    brief: { type: 'boolean' },
  },
})

/**
 * By platform: the addon that is built for it, the tests, those left out as patterns of their titles by the reason, and how many
 * times as long as usual they may take.
 */
const PLATFORMS = {
  'win32-x64': {
    addon: 'win32-x64',
    tests: values['every-package'] ? EVERYTHING : [...testsOf('cpu', 'conformance'), ...EXECUTOR, ...FILES, ...PROGRAM],
    startsPrograms: true,
    without: {
      'wine follows no symbolic links': '\\blinks?\\b|not a regular file',
      'wine connects no socket of fetch()': 'VoiceServer > (reports|outlives|answers|refuses an up|is not ready)',
      'a profiler names the files of the bundle': 'the steps grow with',
    },
  },
  'linux-arm64-gnu': {
    addon: 'linux-arm64-gnu',
    tests: [...testsOf('cpu', 'conformance'), ...EXECUTOR, ...FILES.filter((file) => !file.includes('/interop/'))],
    patience: 4,
    without: {
      'qemu shows no starts of threads': 'start of its thread',
      'qemu takes longer than its own limit of 300 s': "the sums of NVIDIA's RNN sample",
    },
  },
  'linux-x64-musl': {
    addon: 'linux-x64-musl',
    tests: [...testsOf('cpu', 'conformance'), ...EXECUTOR],
    without: {
      'Bun has no gc in a new context': 'stats\\(\\) counts live objects|drop a network',
      'Bun has another message for a tensor that is sent to a worker': 'send a tensor to a worker',
    },
  },
  'linux-s390x-gnu': {
    tests: FILES,
    // qemu takes some twenty times as long.
    budget: { CUDNN_RNN_FUZZ_MUTATIONS: '50' },
    patience: 4,
    without: {
      'HDF5 is refused on big-endian processors': 'SimpleRNN without|encodeKerasArchive|in another order than',
      'Node.js 20.11 inflates no zip entries': 'share their elements|compressed\\.npz|Stable-Baselines3|of Silero VAD',
      'qemu shows no starts of threads': 'start of its thread',
      'ONNX Runtime has no build for s390x': 'of whole graphs',
    },
  },
}

ownTemporaryFolder()

const names = positionals.length > 0 ? positionals : Object.keys(PLATFORMS)
for (const name of names) {
  const { addon } = PLATFORMS[name]
  const missing = [...missingRuntime(name), ...(addon === undefined ? [] : missingTools(addon))]
  if (missing.length > 0) console.log(`${name}: skipped, as ${missing.join(', ')} was not found`)
  else await testOn(name, PLATFORMS[name])
}

async function testOn(name, { addon, tests: all, startsPrograms, budget, patience = 1, without }) {
  const first = all.findIndex((file) => file.startsWith(values.from))
  if (first < 0) throw new Error(`${name} runs no tests of ${values.from}`)
  const tests = all.slice(first).filter((file) => file.includes(values.only))
  const work = join(tmpdir(), name)
  mkdirSync(work)
  // The place where packages/cpu's loader looks for it.
  const staged = addon && join(source, 'prebuilds', addon)
  try {
    if (staged !== undefined) {
      const built = buildAddon(addon, keptFolder(addon), false, values.brief ? '-O1' : '-O3')
      const problems = checkAddon(addon, built)
      if (problems.length > 0) throw new Error(`${name}: ${problems.join('; ')}`)
      mkdirSync(staged, { recursive: true })
      copyFileSync(built, join(staged, 'cudnn_rnn_cpu.node'))
    }
    await bundleTests(join(work, 'tests'), tests)
    const programs = startsPrograms && servePrograms(work)
    const logs = []
    const failures = []
    console.log(`${name}, ${nodeOf(name)}`)
    // A process for each package: tests leave objects and mocks behind.
    for (const folder of new Set(tests.map((file) => /^\w+\/[^/]+\//.exec(file)[0]))) {
      const log = join(work, `log-${logs.length}`)
      const options = ['--only', folder, '--without', JSON.stringify(without), '--patience', String(patience)]
      const { passed, ending } = runOn(
        name,
        (path) => [path(join(work, 'tests/run.js')), '--root', path(root), '--log', path(log), ...options],
        { cwd: root, log: join(work, 'output'), work, timeout: patience * 30 * 60_000, budget },
      )
      if (!passed) failures.push(`${folder}: ${ending}`)
      logs.push(existsSync(log) ? readFileSync(log, 'utf8') : `${folder}: no test ran\n`)
      console.log(logs.at(-1).trimEnd())
    }
    if (programs) await programs.terminate()
    console.log(sumsOf(logs.join(''), Object.keys(without)))
    if (failures.length > 0) throw new Error(failures.join('\n'))
  } finally {
    if (staged !== undefined) rmSync(staged, { recursive: true, force: true })
  }
}

/** The counts of all packages, and of the tests that each reason skips, in lines. A named reason without a test shows too. */
function sumsOf(log, named) {
  const sums = { passed: 0, failed: 0, skipped: 0 }
  for (const [line] of log.matchAll(/^\d+ passed, \d+ failed, \d+ skipped$/gm))
    for (const [, count, kind] of line.matchAll(/(\d+) (\w+)/g)) sums[kind] += Number(count)
  const reasons = Object.fromEntries(named.map((reason) => [reason, 0]))
  for (const [, reason] of log.matchAll(/^SKIPPED .*: (.*)$/gm)) reasons[reason] = (reasons[reason] ?? 0) + 1
  return [
    `All: ${Object.entries(sums)
      .map(([kind, count]) => `${count} ${kind}`)
      .join(', ')}`,
    ...Object.entries(reasons).map(([reason, count]) => `  ${count} skipped: ${reason}`),
  ].join('\n')
}

/** Bundles the programs that tests start, on a thread; and compiles the one by which they interrupt another one on Windows. */
function servePrograms(work) {
  const event = join(work, 'console_event.exe')
  const options = ['--target=x86_64-w64-windows-gnu', '-fuse-ld=lld', '-static', '-Wall', '-Werror', '-o', event]
  run('clang++-19', [...options, join(root, 'scripts/build/cross/console_event.cc')])
  process.env.CUDNN_RNN_CONSOLE_EVENT = `Z:${event}`
  const requests = join(work, 'tests/requests')
  mkdirSync(requests)
  return new Worker(new URL('../build/cross/bundle_requests.mjs', import.meta.url), { workerData: requests })
}
