import { checkOptions, codedRangeError, integerIn, type OptionsOf, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { BackendUnavailableError } from '@cudnn-rnn/ops'
import {
  type HostBackend,
  type KernelRnn,
  type LoadedAddon,
  loadNativeAddon,
  type MatrixFormat,
  openKernelBackend,
  WEIGHT_FORMATS,
} from '@cudnn-rnn/ops/executor'
import { createCpuExecutor } from './cpu_executor.js'
import { chooseInstructionSet, INSTRUCTION_SETS } from './instruction_set.js'
import type { NativeAddon } from './native_addon.js'

/** Loads the addon of this executor; `CUDNN_RNN_CPU_ADDON` names another file. */
export function loadAddon(): LoadedAddon<NativeAddon> {
  return loadNativeAddon('cpu', import.meta.url)
}

const ACTION = 'open the cpu backend'
const OPTIONS = {
  /** Element type of everything computed; default float32. */
  dtype: optional(oneOf(['float32', 'float64'])),
  /** Threads that compute, 1..256; default: physical cores, within the limits of a container. */
  threads: optional(integerIn(1, 256)),
  /** Instruction set of the kernels; default: the best that this processor has. Results differ in their last bits. */
  instructionSet: optional(oneOf(INSTRUCTION_SETS)),
  /**
   * How inference reads the matrices, default float32: copies in bfloat16 or int8 (one scale per unit and gate) are made
   * when parameters are first used and again after they changed. Training reads float32.
   */
  weights: optional(oneOf(WEIGHT_FORMATS)),
  /**
   * Arithmetic of the matrix products of recurrent networks, in inference and training, and of dense layers, default
   * float32. bfloat16 rounds both factors; sums, states, gates, gradients and variables stay float32. It is faster if the
   * processor multiplies bfloat16 fast (AVX512_BF16 of AMD, AMX on Linux, BF16 of 64-bit ARM); others compute the same
   * numbers, but for the order of sums. Recurrent networks that would not be faster are in float32: where the parameters of
   * a layer in one direction, times B, are fewer than 32,768, in training than 65,536, and training of fewer than 32 rows
   * T·B.
   */
  precision: optional(oneOf(['float32', 'bfloat16'])),
  /**
   * How inference with int8 weights takes the other factor of their products, default float32: in integers of 15 or 16 bits
   * where the instruction set has them. int8 brings each row to 8 bits (dynamic quantization), with the same numbers
   * everywhere and half the time with AVX-512 VNNI and NEON's dot products. Networks that would not be faster read
   * float32, as with precision.
   */
  activations: optional(oneOf(['float32', 'int8'])),
}

/** Options of {@link openCpuBackend}. */
export interface CpuBackendOptions extends OptionsOf<typeof OPTIONS> {}

/** The fast executor of machines without a GPU. */
export type CpuBackend = HostBackend<KernelRnn>

/**
 * Opens the CPU executor: C++ kernels on a pool of threads.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` if the native addon cannot be loaded, or the processor lacks
 *   `instructionSet`
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openCpuBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openCpuBackend({ threads: 2 })
 * const x = backend.tensor({ data: Float32Array.of(1, 2), shape: [2] })
 * backend.ops.accumulate(x, { data: Float32Array.of(10, 10), shape: [2] })
 * console.log(backend.name, await x.data()) // cpu [11, 12]
 * backend.dispose()
 * ```
 */
export function openCpuBackend(options: CpuBackendOptions = {}): CpuBackend {
  return openCpu(options, true)
}

/** Without `leavesSmall` products in bfloat16 and int8 compute small networks too, as tests have them. */
export function openCpu(options: CpuBackendOptions, leavesSmall: boolean): CpuBackend {
  const given = checkOptions(ACTION, options, OPTIONS)
  const { dtype = 'float32', threads } = given
  const { format, name } = matrixFormatOf(given)
  const loaded = loadAddon()
  if (loaded.addon === undefined) {
    const attempts = loaded.attempts.map((reason) => ({ name: 'cpu', reason }))
    throw new BackendUnavailableError('cpu', attempts, loaded.advice)
  }
  const { addon } = loaded
  const supported = addon.instructionSets()
  const instructionSet = chooseInstructionSet(given.instructionSet, supported)
  if (instructionSet === undefined) {
    const reason = `this processor has no ${given.instructionSet}, but ${supported.join(', ')}`
    throw new BackendUnavailableError(
      'cpu',
      [{ name: 'cpu', reason }],
      'Leave instructionSet out for the best there is.',
    )
  }
  const count = threads ?? addon.physicalCores()
  const native = new addon.NativeExecutor(instructionSet, count, dtype === 'float64', format === 'bfloat16_products')
  const reduced = name === undefined ? '' : `, ${name}`
  return openKernelBackend(
    createCpuExecutor(addon, native, dtype, format, leavesSmall && format.endsWith('products')),
    {
      name: 'cpu',
      reason: `cpu: ${instructionSet}, ${dtype}, ${count} ${count === 1 ? 'thread' : 'threads'}${reduced}`,
      implementation: `${instructionSet}${reduced}`,
      opaqueOrder: native.describe().panelOrder,
    },
  )
}

/** The format of matrices that the options give, and its name where it is reduced. float64 has none. */
function matrixFormatOf(options: CpuBackendOptions): { readonly format: MatrixFormat; readonly name?: string } {
  const { dtype = 'float32', weights = 'float32', precision = 'float32', activations = 'float32' } = options
  const reduced = { weights, precision, activations }
  for (const [option, value] of Object.entries(reduced)) {
    const isOfFloat64 = dtype === 'float64' && value !== 'float32'
    if (isOfFloat64) throw invalid(option, value, 'float32 with dtype float64')
  }
  if (precision !== 'float32' && weights === 'int8') throw invalid('precision', precision, 'float32 with weights int8')
  if (activations !== 'float32' && weights !== 'int8') {
    throw invalid('activations', activations, `float32 with weights ${weights}`)
  }
  if (activations !== 'float32') return { format: 'int8_products', name: 'int8 products' }
  if (precision !== 'float32') return { format: 'bfloat16_products', name: 'bfloat16 products' }
  return weights === 'float32' ? { format: weights } : { format: weights, name: `${weights} weights` }
}

function invalid(option: string, value: string, rule: string) {
  const message = `Cannot ${ACTION} as ${option} must be ${rule}: current value is ${value}`
  return codedRangeError('ERR_INVALID_OPTION', message, { option, value })
}
