import { describeValue } from '@cudnn-rnn/canonical'
import { dirname, join } from 'node:path'
import {
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  either,
  FLAG,
  integerFrom,
  invalidOption,
  type OptionsOf,
  oneOf,
  optional,
  PATH,
} from '@cudnn-rnn/canonical/rules'
import { type BackendAttempt, BackendUnavailableError } from '@cudnn-rnn/ops'
import type { CudnnBackend } from './cudnn_backend.js'
import { type Arithmetic, arithmeticOf, type Precision } from './device/precision.js'
import { loadAddon } from './load_addon.js'
import { type CudaLibraries, openCudaLibraries } from './sys/cuda_libraries.js'
import { ALGORITHMS, type Algorithm } from './sys/cudnn_enums.js'
import { CudnnError } from './sys/cudnn_error.js'
import type { NativeAddon } from './sys/native_addon.js'
import { versionText } from './sys/version_text.js'

const OPTIONS = {
  /** Element type of tensors and parameters; default float32. */
  dtype: optional(oneOf(['float32', 'float64'])),
  /** Arithmetic of a float32 executor; default float32, true single precision. */
  // By arithmeticOf: its values depend on the dtype.
  precision: checkedElsewhere<Precision | undefined>(),
  /** Index of the GPU; default 0. */
  device: optional(integerFrom(0)),
  /** Folder that holds NVIDIA's libraries; default CUDNN_RNN_LIBRARY_DIR. It is searched before everything else. */
  libraryDir: optional(PATH),
  /** cuDNN's algorithm; default `measured`: the fastest of those that cuDNN accepts, timed once per shape. */
  algorithm: optional(oneOf(['measured', ...(Object.keys(ALGORITHMS) as Algorithm[])])),
  /**
   * Replay recurring passes and training steps as CUDA graphs; default `measured`: if that is faster than the
   * calls, timed once per shape.
   */
  graphs: optional(either(FLAG, oneOf(['measured']))),
  /**
   * Whose kernels compute recurrent layers: `cudnn`; `own`, this package's for every pass that they can compute; or
   * `measured`, this package's if a trial agrees with cuDNN and is faster. Default CUDNN_RNN_KERNELS, else `cudnn`: no GPU
   * has run the others yet.
   */
  kernels: optional(oneOf(['measured', 'cudnn', 'own'])),
  /** Folder for compiled kernels; default CUDNN_RNN_CACHE_DIR, else cudnn-rnn in the user's cache folder. */
  cacheDir: optional(PATH),
}

/** Options of {@link openCudnnBackend}. */
export interface CudnnBackendOptions extends OptionsOf<typeof OPTIONS> {}

/** The first release whose recurrent networks compute in bfloat16. */
const FIRST_BFLOAT16_VERSION = 91_300

/**
 * Opens the cuDNN executor on one GPU.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` if it cannot work here, with everything that was tried
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts no-run
 * import { openCudnnBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = await openCudnnBackend({ precision: 'tf32' })
 * console.log(backend.reason) // cudnn: NVIDIA H200, cuDNN 9.24.0, tf32
 * backend.dispose()
 * ```
 */
export async function openCudnnBackend(options: CudnnBackendOptions = {}): Promise<CudnnBackend> {
  const arithmetic = checkBackendOptions(options)
  const { dtype = 'float32', device = 0, algorithm = 'measured', graphs = 'measured', libraryDir, cacheDir } = options
  const { kernels = kernelsOfEnvironment() ?? 'cudnn' } = options
  const loaded = loadAddon()
  if (loaded.addon === undefined) {
    throw unavailable([{ name: 'cudnn', reason: loaded.attempts.join('; ') }], loaded.advice)
  }
  const { addon } = loaded
  const found = openCudaLibraries(addon, libraryDir)
  const libraries = checkLibraries(addon, found, device, arithmetic)
  // The option is a boolean or `measured`; inside, a policy with three names.
  const policy = graphs === 'measured' ? graphs : graphs ? 'always' : 'never'
  try {
    // Loaded here: most machines have no GPU, and the executor is most of this package.
    const { startBackend } = await import('./start_backend.js')
    const shippedKernels = join(dirname(loaded.file), 'cubins')
    const rest = { graphs: policy, kernels, cacheDir, libraryDir, shippedKernels } as const
    return await startBackend(addon, libraries, { device, dtype, arithmetic, algorithm, ...rest })
  } catch (error) {
    if (!(error instanceof CudnnError)) throw error
    const advice = 'Run `nvidia-smi`, and see that driver, CUDA libraries and cuDNN fit each other.'
    throw unavailable([{ name: 'cudnn', reason: error.message }], advice, { cause: error })
  }
}

/** Checks the options; returns the arithmetic that they select. */
export function checkBackendOptions(options: CudnnBackendOptions): Arithmetic {
  const given = checkOptions('open the cuDNN backend', options, OPTIONS)
  checkOptions('open the cuDNN backend', { kernels: kernelsOfEnvironment() }, OPTIONS)
  return arithmeticOf(given.dtype ?? 'float32', given.precision)
}

/** Undefined if the variable is not set; checked as the option is. */
function kernelsOfEnvironment(): CudnnBackendOptions['kernels'] {
  return (globalThis.process?.env['CUDNN_RNN_KERNELS'] || undefined) as CudnnBackendOptions['kernels']
}

/** The libraries, if there is a device to use them on. */
function checkLibraries(addon: NativeAddon, found: CudaLibraries, device: number, { precision }: Arithmetic) {
  if (found.libraries === undefined) throw unavailable(found.attempts, found.advice)
  const { libraries, cudnnVersion } = found
  const { count, error } = addon.deviceCount(libraries)
  if (error !== '' || count === 0) {
    const reason = error === '' ? 'the driver sees no GPU' : `the driver sees no GPU (${error})`
    throw unavailable([{ name: 'cudnn', reason }], 'Run `nvidia-smi`: a driver that fits the CUDA libraries is needed.')
  }
  if (device >= count)
    throw invalidOption('open the cuDNN backend', 'device', `below the number of GPUs (${count})`, device)
  if (precision === 'bfloat16' && cudnnVersion < FIRST_BFLOAT16_VERSION) {
    const needed = `${versionText(FIRST_BFLOAT16_VERSION)} and ${versionText(cudnnVersion)} is here`
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot open the cuDNN backend as precision needs cuDNN ${needed}: current value is ${describeValue(precision)}`,
      { option: 'precision', value: precision },
    )
  }
  return libraries
}

/** Every attempt under the executor's name, for the facade. */
function unavailable(attempts: readonly BackendAttempt[], advice: string, options?: ErrorOptions) {
  const named = attempts.map(({ name, reason }) => ({
    name: 'cudnn',
    reason: name === 'cudnn' ? reason : `${name}: ${reason}`,
  }))
  return new BackendUnavailableError('cudnn', named, advice, options)
}
