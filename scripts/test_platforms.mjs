// Runs tests on platforms that this machine emulates: `node scripts/test_platforms.mjs [PLATFORM]…`, by default all.
//   win32-x64         native/cpu, and the readers and writers of files, under wine. Debian: the packages of scripts/cross.mjs, wine64
//   linux-arm64-gnu   native/cpu under qemu. Debian: the same, qemu-user
//   linux-s390x-gnu   the readers and writers on a big-endian processor, under qemu. Debian: libstdc++6-s390x-cross qemu-user
// Node.js comes from npm. A platform whose tools are missing is skipped, and printed.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleTests } from './cross/bundle_tests.mjs'
import { checkAddon } from './cross/check_addon.mjs'
import { missingRuntime, nodeOf, runOn } from './cross/runtimes.mjs'
import { buildAddon, missingTools } from './cross/targets.mjs'
import ownTemporaryFolder from './temporary_folder.mjs'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')
const source = join(root, 'native/cpu')
const testsOf = (folder, names) => names.split(' ').map((name) => `packages/${folder}/test/${name}.test.ts`)
// Tests that start programs of this machine, bundle with its libraries or use vitest's timers are not among these.
const EXECUTOR = testsOf('cpu', 'activations bound_steps native_counts quantized_weights random_sizes shared_memory')
const FILES = [
  ...testsOf(
    'checkpoint',
    'files/half_floats files/little_endian files/make_directory files/open_regular_file files/replaced_while_read',
  ),
  ...testsOf('checkpoint', 'bundle_messages bundle_writer byte_input byte_source checkpoint_state crc32c entry_ranges'),
  ...testsOf('checkpoint', 'file_source file_store slices snappy_block table_writer tensor_bytes tensor_proto varint'),
  ...testsOf('checkpoint', 'tensorflow_fixtures hostile_structures save_recovery temporary_file'),
  ...testsOf(
    'interop',
    'elements flax npy onnx onnx_nodes safetensors_reader strided_elements tensorflow zip_directory',
  ),
  ...testsOf(
    'saveable',
    'cell_variables convert_checkpoint detect_networks opaque_params_saveables parsed_key rnn_params_saveable saver tensorflow_scenarios',
  ),
]

/** By platform: the addon that is built for it, and the tests. */
const PLATFORMS = {
  'win32-x64': { addon: 'win32-x64', tests: [...testsOf('cpu', 'conformance'), ...EXECUTOR, ...FILES] },
  'linux-arm64-gnu': { addon: 'linux-arm64-gnu', tests: EXECUTOR },
  'linux-s390x-gnu': { tests: FILES },
}

ownTemporaryFolder()

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PLATFORMS)
for (const name of names) {
  const { addon, tests } = PLATFORMS[name]
  const missing = [...missingRuntime(name), ...(addon === undefined ? [] : missingTools(addon))]
  if (missing.length > 0) console.log(`${name}: skipped, as ${missing.join(', ')} was not found`)
  else await testOn(name, addon, tests)
}

async function testOn(name, addon, tests) {
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
      (path) => [path(join(work, 'tests/run.js')), '--root', path(root), '--log', path(log)],
      { cwd: root, log: join(work, 'output'), wine: join(work, 'wine'), timeout: 15 * 60_000 },
    )
    console.log(`${name}, ${nodeOf(name)}\n${existsSync(log) ? readFileSync(log, 'utf8') : 'no test ran'}`)
    if (!passed) throw new Error(ending)
  } finally {
    if (staged !== undefined) rmSync(staged, { recursive: true, force: true })
  }
}
