// `npm run test:real-libraries`: NVIDIA's own libraries, which run without a driver up to their first CUDA call, judge the
// binding, the kernels and the CUDA emulator. Writes docs/gpu/without_gpu.md. If the wheels are unavailable it reports that
// and succeeds.
//
//     node scripts/testing/test_real_libraries.mjs [--site-packages FOLDER] [--seed NUMBER] [--cases NUMBER] [--check] [--brief]
//
// The wheels are installed into .real_libraries with pip, unless --site-packages (or CUDNN_RNN_REAL_LIBRARIES) names a
// folder that holds them. --check leaves the document alone. --brief compiles the kernels for three architectures instead of
// ten, by nvcc for one, compares a seventh of the layouts, and implies --check.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildCudaEmulator } from '../../native/cuda_emulator/cuda_emulator.mjs'
import { compareConstants } from './real_libraries/constants.mjs'
import { compareWithRealCudnn, KNOWN_DIFFERENCES } from './real_libraries/differential.mjs'
import { ARCHITECTURES, compileByNvcc, FEW_ARCHITECTURES, H200 } from './real_libraries/kernels.mjs'
import { compileDivisions } from './real_libraries/persistent.mjs'
import { modelOf } from './real_libraries/persistent_model.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values: options } = parseArgs({
  options: {
    'site-packages': { type: 'string', default: process.env.CUDNN_RNN_REAL_LIBRARIES },
    seed: { type: 'string', default: '1' },
    cases: { type: 'string', default: '24000' },
    check: { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
  },
})

const WHEELS = [
  'nvidia-cudnn-cu13==9.24.0.43',
  'nvidia-cuda-nvrtc==13.0.88',
  'nvidia-cublas==13.1.1.3',
  'nvidia-nccl-cu13==2.30.7',
  'nvidia-cuda-runtime==13.0.96',
  'nvidia-cuda-nvcc==13.0.88',
  'nvidia-cuda-crt==13.0.88',
  'nvidia-cuda-cccl==13.0.85',
  'nvidia-nvvm==13.0.88',
]

/** The folder `nvidia` of the wheels; undefined if they cannot be had. */
function wheels() {
  if (options['site-packages'] !== undefined) return join(options['site-packages'], 'nvidia')
  const environment = join(root, '.real_libraries')
  const python = join(environment, 'bin/python')
  const sites = () => {
    const lib = join(environment, 'lib')
    const found = existsSync(lib) ? readdirSync(lib).map((name) => join(lib, name, 'site-packages/nvidia')) : []
    return found.find((folder) => existsSync(join(folder, 'cudnn/lib')) && existsSync(join(folder, 'cu13/bin/nvcc')))
  }
  const run = (command, args) =>
    spawnSync(command, args, { stdio: 'ignore', env: { ...process.env, PIP_RETRIES: '0' } })
  if (sites() === undefined) {
    if (!existsSync(python) && run('python3', ['-m', 'venv', environment]).status !== 0) return undefined
    run(python, ['-m', 'pip', 'install', '--quiet', ...WHEELS])
  }
  return sites()
}

/** Runs one of the scripts beside this one: its output, and whether it succeeded. */
function script(name, ...args) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'scripts/testing/real_libraries', name), ...args],
    {
      encoding: 'utf8',
      maxBuffer: 64 * 2 ** 20,
    },
  )
  return { passed: status === 0, text: stdout + stderr }
}

const nvidia = process.platform === 'linux' && process.arch === 'x64' ? wheels() : undefined
const addon = join(root, 'native/cudnn/prebuilds/linux-x64-gnu/cudnn_rnn_cudnn.node')
const { build: emulator, problem } = buildCudaEmulator()
if (nvidia === undefined || !existsSync(addon) || problem !== undefined) {
  const why =
    nvidia === undefined
      ? "NVIDIA's wheels could not be installed here"
      : (problem ?? 'the addon is not built: npm run build:native')
  console.log(`Real libraries: not tested, as ${why}`)
  process.exit(0)
}

const removeBuild = ownTemporaryFolder()
const build = tmpdir()
/** The array in which CUDA's sin and cos reduce arguments above 105,615; no other code of the kernels has a stack. */
const RANGE_REDUCTION_BYTES = 40
/** The times of cuDNN and of PyTorch with which the model of the persistent kernels compares. */
const MEASURED = '2026-11-27_nvidia_h200.md'
/** Rows of the document, and failures. */
const rows = []
const failures = []
function record(what, compared, passed, details = '') {
  rows.push([what, compared, passed ? 'agree' : '**differ**'])
  console.log(`${passed ? 'ok' : 'FAILED'}: ${what}: ${compared}`)
  if (!passed) failures.push(`${what}\n${details}`)
}

try {
  mkdirSync(join(root, 'docs/gpu'), { recursive: true })
  const cudnn = join(nvidia, 'cudnn/lib')
  const includes = ['cudnn', 'cu13', 'nccl'].map((name) => join(nvidia, name, 'include'))

  const layout = script('descriptors.mjs', cudnn, ...(options.brief ? ['--brief'] : []))
  const checks = layout.text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const weights = checks.find(({ check }) => check === 'weight layout')
  const counted = (name) => checks.filter(({ check }) => check === name).length
  record(
    'Weight layouts, descriptors and sequences of cuDNN 9.24',
    `${weights?.accepted} layouts of ${weights?.tried} tried, ${counted('descriptor')} descriptors, ${counted('sequence')} sequences`,
    layout.passed,
    layout.text.slice(-3000),
  )

  const prototypes = script('prototypes.mjs', ...includes)
  const agreeing = [...prototypes.text.matchAll(/(\w+): (\d+) prototypes agree/g)].map(
    ([, name, n]) => `${n} of ${name}`,
  )
  record('Prototypes of the symbol tables', agreeing.join(', '), prototypes.passed, prototypes.text)

  const signatures = spawnSync(
    'c++',
    [
      ...['-std=c++20', '-fsyntax-only', '-I', join(root, 'native/cuda_emulator')],
      ...includes.flatMap((folder) => ['-isystem', folder]),
      join(root, 'native/cuda_emulator/abi/check_signatures.cc'),
    ],
    { encoding: 'utf8' },
  )
  record('Prototypes and structures of the emulator', 'all tables', signatures.status === 0, signatures.stderr)

  const constants = await compareConstants({ includes, build })
  record('Constants of binding, executor and emulator', `${constants.count}`, !constants.problem, constants.problem)

  const architectures = options.brief ? FEW_ARCHITECTURES : ARCHITECTURES
  const { text } = script('nvrtc.mjs', addon, join(nvidia, 'cu13/lib'), ...architectures)
  const result = text.split('\n').findLast((line) => line.startsWith('{"images"'))
  const nvrtc = result === undefined ? { images: 0, problems: [text.slice(-3000)] } : JSON.parse(result)
  const types = 'float and double'
  const range = `sm_${architectures[0]} … sm_${architectures.at(-1)} and PTX`
  const compiled = nvrtc.problems.length === 0
  record('Kernels by NVRTC 13.0', `${nvrtc.images} images: ${range}, ${types}`, compiled, nvrtc.problems.join('\n'))

  const signals = script('signals.mjs', addon, join(nvidia, 'cu13/lib'))
  record(
    'Programs that end by a signal',
    'SIGTERM and SIGINT, while and after NVRTC 13.0 compiles',
    signals.passed && signals.text.trim().endsWith('{"problems":[]}'),
    signals.text,
  )

  const nvcc = compileByNvcc({
    nvcc: join(nvidia, 'cu13/bin/nvcc'),
    files: ['dense.cu', 'layers.cu', 'tensors.cu', 'ctc.cu', 'streams.cu'].map((name) =>
      join(root, 'native/cudnn/kernels', name),
    ),
    // NVRTC has the same front end.
    ...{ build, architectures: options.brief ? [H200] : architectures },
  })
  const most = (name) => Math.max(...nvcc.usage.map((use) => use[name]))
  record(
    'Kernels by nvcc 13.0',
    `${nvcc.usage.length} images: at most ${most('registers')} registers, ${most('spills')} bytes of spills, ${most('stack')} of stack`,
    nvcc.problems.length === 0 &&
      nvcc.usage.length > 0 &&
      most('spills') === 0 &&
      most('stack') <= RANGE_REDUCTION_BYTES,
    nvcc.problems.join('\n'),
  )

  const persistent = await compileDivisions({ nvcc: join(nvidia, 'cu13/bin/nvcc'), build, isBrief: options.brief })
  record(
    'Persistent kernels by nvcc 13.0 for sm_90',
    `${persistent.count} divisions of layers: at most ${persistent.registers} registers, ${persistent.problems.length} with spills`,
    persistent.problems.length === 0,
    persistent.problems.join('\n'),
  )

  const differential = compareWithRealCudnn({
    ...{ cudnn, emulator: join(emulator, 'lib/cudnn9'), build },
    ...{ seed: Number(options.seed), count: Number(options.cases) },
  })
  const { calls, faults, known } = differential
  record(
    'Host validation of cuDNN 9.24 and of the emulator',
    `${differential.cases} random cases (seed ${differential.seed}): ${calls.compared} calls, ${calls.passes} of them passes, ${calls.accepted} accepted`,
    faults.length === 0,
    faults
      .slice(0, 5)
      .map((fault) => `${fault.call}\n  real      ${fault.line}\n  emulator  ${fault.emulated}`)
      .join('\n'),
  )
  if (!options.check && !options.brief) {
    const report = readFileSync(join(root, 'docs/gpu', MEASURED), 'utf8')
    writeFileSync(join(root, 'docs/gpu/without_gpu.md'), documentOf(known, modelOf(persistent.divided, report)))
  }
} finally {
  removeBuild()
}
for (const failure of failures) console.error(`\n${failure}`)
process.exitCode = failures.length === 0 ? 0 : 1

function documentOf(known, model) {
  const table = (head, lines) => [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`)
  return `${[
    "# NVIDIA's libraries without a GPU",
    '',
    'Written by `npm run test:real-libraries`. The libraries run without a driver up to their first CUDA call: cuDNN makes',
    'its descriptors, computes its weight layouts and validates every pass on the host before that; NVRTC and nvcc compile for',
    'any architecture. The emulator must refuse everything that they refuse.',
    '',
    ...table(['subject', 'compared', 'result'], rows),
    '',
    'The library reads the compute capability from its handle and reads nothing else from it before the first CUDA call. The',
    'comparison passes a page of memory filled with 9.0 as the handle, and counts status 5003, the first CUDA call without a',
    'driver, as acceptance. Only the tests do this.',
    '',
    '## Known differences',
    '',
    'In these cases the emulator is stricter. A case that the emulator accepts and the library refuses is a defect of the',
    'emulator; none is known.',
    '',
    ...table(
      ['difference', 'calls', 'reason'],
      KNOWN_DIFFERENCES.map(({ name, reason }) => [name, String(known[name] ?? 0), reason]),
    ),
    '',
    '## Findings',
    '',
    '- `hx` may be NULL if `dhx` is not, and `cx` where `dcx` is not, in every algorithm and type.',
    '- Batch-major sequences need `CUDNN_RNN_PADDED_IO_ENABLED` even if all rows have T steps.',
    '- A state descriptor is checked only if a pointer needs it, and then for every cell: `cDesc` of a GRU too.',
    '- `cudnnGetRNNTempSpaceSizes` already refuses too many units for the persistent algorithms.',
    '',
    '## Persistent kernels by a model',
    '',
    'Nothing here is measured: no GPU has run the [persistent kernels](../persistent_kernels.md). Parts of the time that PyTorch',
    `took on an H200 ([measured](${MEASURED})), for T = 70, I = H. Each time is the least of cuDNN's, which was measured, and`,
    'of the two divisions that the executor would try, if the compiler granted them registers without spills, by a model of a',
    "step (`stepMicroseconds` of `persistent_shape.ts`), of cuBLAS's products and of memory. float32 includes `tf32x3`.",
    '',
    ...table(
      ['constants', 'geometric mean', 'float32', 'bfloat16', 'TF32'],
      model.means.map(({ name, ...means }) => [name, ...Object.values(means).map((mean) => mean.toFixed(2))]),
    ),
    '',
    'By the expected constants:',
    '',
    ...table(
      ['network', 'H', 'B', 'forward', 'training', 'kernels'],
      model.cells.map(({ cell: { cellMode, precision, H, B }, isGranted, ratios: { expected } }) => [
        `${cellMode.toUpperCase()} ${precision}`,
        ...[H, B, expected.forward.toFixed(2), expected.training.toFixed(2), isGranted ? 'tried' : "cuDNN's"],
      ]),
    ),
  ].join('\n')}\n`
}
