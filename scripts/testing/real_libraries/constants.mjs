// Compares the constants of the binding, of the executor and of the emulator with NVIDIA's headers, and the layout of the
// one structure that crosses an interface. Everything is compiled, nothing is linked.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const HEADERS = ['cudnn.h', 'cuda_runtime_api.h', 'cuda.h', 'nvrtc.h', 'cublas_api.h', 'library_types.h', 'nccl.h']
const ABI = ['cudnn', 'cudart', 'driver', 'nvrtc', 'cublas', 'nccl'].map((name) => `abi/${name}.h`)

/** The enumerators that a header of ours defines, by their names in NVIDIA's. */
function enumeratorsOf(file) {
  const text = readFileSync(file, 'utf8').replaceAll(/\/\/.*$/gm, '')
  return [...text.matchAll(/enum\s*(?::\s*\w+\s*)?\{([^}]*)\}/g)].flatMap(([, body]) =>
    body
      .split(',')
      .map((entry) => entry.split('=')[0].trim())
      .filter(Boolean),
  )
}

/** cudnn_enums.ts by the names of NVIDIA's headers. */
const NAMES = {
  ALGORITHMS: {
    standard: 'CUDNN_RNN_ALGO_STANDARD',
    persist_static: 'CUDNN_RNN_ALGO_PERSIST_STATIC',
    persist_dynamic: 'CUDNN_RNN_ALGO_PERSIST_DYNAMIC',
    persist_static_small_h: 'CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H',
  },
  CELL_MODE_NUMBERS: { rnn_relu: 'CUDNN_RNN_RELU', rnn_tanh: 'CUDNN_RNN_TANH', lstm: 'CUDNN_LSTM', gru: 'CUDNN_GRU' },
  BIAS_MODE_NUMBERS: {
    none: 'CUDNN_RNN_NO_BIAS',
    single_input: 'CUDNN_RNN_SINGLE_INP_BIAS',
    double: 'CUDNN_RNN_DOUBLE_BIAS',
    single_recurrent: 'CUDNN_RNN_SINGLE_REC_BIAS',
  },
  DIRECTION_NUMBERS: { unidirectional: 'CUDNN_UNIDIRECTIONAL', bidirectional: 'CUDNN_BIDIRECTIONAL' },
  INPUT_MODE_NUMBERS: { linear_input: 'CUDNN_LINEAR_INPUT', skip_input: 'CUDNN_SKIP_INPUT' },
  FORWARD_MODE: { inference: 'CUDNN_FWD_MODE_INFERENCE', training: 'CUDNN_FWD_MODE_TRAINING' },
  SEQ_MAJOR_UNPACKED: 'CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED',
  PADDED_IO_DISABLED: 'CUDNN_RNN_PADDED_IO_DISABLED',
  PADDED_IO_ENABLED: 'CUDNN_RNN_PADDED_IO_ENABLED',
  WGRAD_ADD: 'CUDNN_WGRAD_MODE_ADD',
  CTC_LOSS_ALGO_DETERMINISTIC: 'CUDNN_CTC_LOSS_ALGO_DETERMINISTIC',
  DATA_TYPES: {
    float32: 'CUDNN_DATA_FLOAT',
    float64: 'CUDNN_DATA_DOUBLE',
    float16: 'CUDNN_DATA_HALF',
    bfloat16: 'CUDNN_DATA_BFLOAT16',
  },
  MATH_TYPES: { default: 'CUDNN_DEFAULT_MATH', tensorOp: 'CUDNN_TENSOR_OP_MATH', fma: 'CUDNN_FMA_MATH' },
  CUBLAS_TYPES: { float32: 'CUDA_R_32F', float64: 'CUDA_R_64F', float16: 'CUDA_R_16F', bfloat16: 'CUDA_R_16BF' },
  CUBLAS_COMPUTE: {
    float32: 'CUBLAS_COMPUTE_32F',
    float64: 'CUBLAS_COMPUTE_64F',
    float32Fast16: 'CUBLAS_COMPUTE_32F_FAST_16F',
    float32FastBfloat16: 'CUBLAS_COMPUTE_32F_FAST_16BF',
    float32FastTf32: 'CUBLAS_COMPUTE_32F_FAST_TF32',
  },
  CUBLAS_OP: { none: 'CUBLAS_OP_N', transpose: 'CUBLAS_OP_T' },
}
/** The emulator's names that are shorter than NVIDIA's. */
const LONGER = {
  CUDNN_SEQ_MAJOR_UNPACKED: 'CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED',
  CUDNN_SEQ_MAJOR_PACKED: 'CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED',
  CUDNN_BATCH_MAJOR_UNPACKED: 'CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED',
  CUDNN_PADDED_IO_DISABLED: 'CUDNN_RNN_PADDED_IO_DISABLED',
  CUDNN_PADDED_IO_ENABLED: 'CUDNN_RNN_PADDED_IO_ENABLED',
  CUDNN_WGRAD_ADD: 'CUDNN_WGRAD_MODE_ADD',
  CUDNN_WGRAD_SET: 'CUDNN_WGRAD_MODE_SET',
}

async function executorConstants(build) {
  const outfile = join(build, 'cudnn_enums.mjs')
  const entry = join(root, 'packages/cudnn/src/sys/cudnn_enums.ts')
  buildSync({ entryPoints: [entry], outfile, format: 'esm', platform: 'node' })
  const tables = await import(outfile)
  return Object.entries(tables).flatMap(([table, values]) => {
    const names = NAMES[table]
    if (typeof values === 'number') return [[names, values]]
    return Object.entries(values).map(([key, value]) => [names?.[key], value])
  })
}

/** Compares all constants; returns how many agree, and the compiler's words if one does not. */
export async function compareConstants({ includes, build }) {
  const binding = join(root, 'native/cudnn/src/sys/nvidia_types.h')
  const emulator = join(root, 'native/cuda_emulator')
  const executor = await executorConstants(build)
  const unnamed = executor.filter(([name]) => name === undefined)
  if (unnamed.length > 0)
    return { count: 0, problem: `${unnamed.length} constants of cudnn_enums.ts have no name here` }
  const include = ['-I', emulator, ...includes.flatMap((folder) => ['-isystem', folder])]
  const problems = []
  let count = 0
  const check = (what, ours, asserted) => {
    count += asserted.length
    // Ours first: NVIDIA's headers define macros by some of the names.
    const program = `#include <cstddef>\n#include <cstdint>\n${ours}
#define __CUDA_RUNTIME_H__
${HEADERS.map((header) => `#include <${header}>`).join('\n')}
${asserted.map(([value, name]) => `static_assert((long long)(${value}) == (long long)(${name}), "${name}");`).join('\n')}
int main() {}
`
    const { status, stderr } = spawnSync('c++', ['-std=c++20', '-fsyntax-only', '-x', 'c++', ...include, '-'], {
      input: program,
      encoding: 'utf8',
    })
    if (status !== 0) problems.push(`${what}:\n${stderr.slice(0, 4000)}`)
  }
  const copied = (names) => names.map((name) => `constexpr long long copy_of_${name} = ours::${name};`).join('\n')
  const own = (file, text) => {
    const names = [...new Set(enumeratorsOf(file))]
    const ours = `namespace ours {\n${text}\n}\n${copied(names)}`
    check(
      file,
      ours,
      names.map((name) => [`copy_of_${name}`, LONGER[name] ?? name]),
    )
  }
  own(binding, `#include "${binding}"`)
  for (const header of ABI) own(join(emulator, header), `#define EMULATOR_TABLES_ONLY\n#include "${header}"`)
  check(
    'cudnn_enums.ts',
    '',
    executor.map(([name, value]) => [value, name]),
  )
  return { count, problem: problems.length === 0 ? undefined : problems.join('\n') }
}
