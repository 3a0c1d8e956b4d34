import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { reporters } from './scripts/testing/reporters.js'
import { sourceAliases } from './scripts/testing/vitest_aliases.js'

const root = fileURLToPath(new URL('.', import.meta.url))

/**
 * Workspaces whose test files have a process each, because they measure the memory of the process, change its environment, kill
 * processes, or start workers that load an addon. On Node.js 22 a process that ran the conformance of wasm calls no more
 * callbacks of a FinalizationRegistry, which its test of collected executors needs, and on Node.js 20 a process of many files
 * called none once. Each file costs a third of a second more.
 */
const ISOLATED = new Set(['cpu', 'cudnn', 'wasm', 'differential', 'gpu_validation'])

/** Test files of those workspaces that do nothing of that: a run of everything has them in processes of several files. */
const SHARED_FILES = [
  'packages/cpu/test/{activations,arrays_to_write,bound_steps,instruction_set,native_counts,public_api,quantized_weights}.test.ts',
  'packages/cpu/test/{random_sizes,shared_memory}.test.ts',
  'packages/cudnn/test/{command_list,commands,cudnn_error,find_nccl,graph_cache,graph_limits,library_folders,network_descriptors,public_api,rnn_plan,rnn_planner}.test.ts',
  'packages/wasm/test/{call_frame,nvidia_sample.node,public_api,quantized_weights,resident_arrays}.test.ts',
  'packages/wasm/test/{wasm_heap,wasm_network,wasm_stepper}.test.ts',
  'apps/gpu_validation/test/{run_all,torch_baseline}.test.ts',
]

/** A file of another workspace that waits for callbacks of a FinalizationRegistry. */
const COLLECTED = 'packages/reference/test/conformance.test.ts'

/** Files that open the CUDA emulator besides, and reset it before each test. */
const EMULATED_FILES = [
  'packages/cudnn/test/{algorithm_choice,converted_copy,ctc_losses,cudnn_layer_kernels,cudnn_row_operations,cudnn_sequence_kernels,cudnn_stepper,dense_kernels}.test.ts',
  'packages/cudnn/test/{device_group,device_group_failures,device_session,dispose_races,emulated_releases,fit,float16_values}.test.ts',
  'packages/cudnn/test/{graph_failures,graph_invalidation,kernel_architecture,nvidia_sample,other_release,pass_graphs}.test.ts',
  'packages/cudnn/test/{persistent_shape,precision,read_sync,replay_trials,training_steps}.test.ts',
  'packages/differential/test/{ctc_losses,row_gradients,scan,tape,tape_refusals}.test.ts',
]

interface Tests {
  readonly name: string
  readonly include: readonly string[]
  readonly exclude?: readonly string[]
  readonly isolate?: boolean
}

const packages = ['packages', 'apps'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => existsSync(join(root, folder, name, 'test')))
    .map((name) => ({ name, include: [`${folder}/${name}/test/**/*.test.{ts,mjs}`] })),
)
const workspaces: readonly Tests[] = [
  ...packages,
  { name: 'scripts', include: ['scripts/test/**/*.test.mjs'] },
  { name: 'cuda_emulator', include: ['native/cuda_emulator/test/*.test.mjs'] },
]

const isAlone = (name: string) => ISOLATED.has(name) || name === 'cuda_emulator'

/** Test files of the workspaces that share processes, with their text. */
const sharing = ['packages', 'apps']
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => ({ name, tests: `${folder}/${name}/test` })))
  .filter(({ name, tests }) => !isAlone(name) && existsSync(join(root, tests)))
  .flatMap(({ tests }) =>
    readdirSync(join(root, tests), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${tests}/${file.replaceAll('\\', '/')}`,
    ),
  )
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))
const filesWith = (words: string) => sharing.filter(({ text }) => text.includes(words)).map(({ file }) => file)

/**
 * Files that open the CUDA emulator in their own process: from then on it is the executor that "auto" chooses there, and tests
 * that name none would train on an emulated GPU, several times as long.
 */
const emulatedFiles = filesWith('openCudaEmulator(')
/**
 * Files that measure the memory of their process, which have one each: V8 compiles a function by all its earlier calls, so a
 * step that allocates nothing alone may allocate behind the tests of other executors.
 */
const measuredFiles = filesWith('memoryUsage')
// `vitest run --project NAME` runs one workspace.
const projects: readonly Tests[] = process.argv.some((argument) => argument.startsWith('--project'))
  ? workspaces
  : [
      ...workspaces
        .filter(({ name }) => isAlone(name))
        .map((tests) => ({ ...tests, exclude: [...SHARED_FILES, ...EMULATED_FILES] })),
      { name: 'collected', include: [COLLECTED] },
      { name: 'memory', include: measuredFiles, isolate: true },
      { name: 'emulated', include: [...emulatedFiles, ...EMULATED_FILES] },
      // One project of all others. A worker of vitest ends with the last file of its project: with a project of each workspace,
      // three workers load most packages again for each.
      {
        name: 'shared',
        include: [
          ...workspaces.filter(({ name }) => !isAlone(name)).flatMap(({ include }) => include),
          ...SHARED_FILES,
        ],
        exclude: [...emulatedFiles, ...measuredFiles, COLLECTED],
      },
    ]

/**
 * The budgets of `vitest run --mode NAME`: scripts of package.json cannot set variables in the shells of all systems. More of them:
 * CONTRIBUTING.md.
 */
const BUDGETS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  all: { CUDNN_RNN_TESTS: 'all' },
  programs: { CUDNN_RNN_PROGRAMS: '2000', CUDNN_RNN_PROGRAMS_SEED: 'random' },
  soak: { CUDNN_RNN_SOAK_CYCLES: '10000' },
}

/** Whether the addon of cpu is built, or a missing one is a failure. */
const prebuilds = join(root, 'native/cpu/prebuilds')
const hasAddon =
  process.env['CUDNN_RNN_REQUIRE_NATIVE'] === '1' ||
  (existsSync(prebuilds) &&
    readdirSync(prebuilds).some((name) => name.startsWith(`${process.platform}-${process.arch}`)))

export default defineConfig(({ mode }) => ({
  test: {
    globalSetup: 'scripts/temporary_folder.mjs',
    reporters,
    // One more than there are processors: a sixth of the time tests wait for processes that they start, and vitest's own
    // process is idle while they run.
    maxWorkers: availableParallelism() + 1,
    // One root and one set of options: projects share the transformed sources.
    experimental: { fsModuleCache: true },
    projects: projects.map(({ name, include, exclude = [], isolate = ISOLATED.has(name) }) => ({
      root,
      resolve: { alias: sourceAliases },
      test: {
        ...{ name, include: [...include], isolate, testTimeout: 180_000, hookTimeout: 180_000 },
        // CI shares its machines. `second_tries.mjs` names the tests that needed the second try.
        retry: process.env['CI'] === 'true' ? 1 : 0,
        exclude: ['**/*.browser.test.ts', '**/node_modules/**', ...exclude],
        ...(hasAddon ? {} : { runner: join(root, 'scripts/testing/addonless_runner.ts') }),
        // Tests compare the output of the command line as text without colors.
        env: { NO_COLOR: '1', ...BUDGETS[mode] },
      },
    })),
  },
}))
