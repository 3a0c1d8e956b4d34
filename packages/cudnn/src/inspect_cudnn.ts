import { type BackendAttempt, BackendUnavailableError } from '@cudnn-rnn/ops'
import { loadAddon } from './load_addon.js'
import { type CudnnBackendOptions, checkBackendOptions, openCudnnBackend } from './open_cudnn_backend.js'
import { type LibraryFiles, openCudaLibraries } from './sys/cuda_libraries.js'
import type { SessionInfo } from './sys/native_addon.js'
import { versionText } from './sys/version_text.js'

/** Whether the cuDNN executor works on this machine, and if not, the reason; for people and for bug reports. */
export interface CudnnReport {
  /** The addon's file; undefined if there is none. */
  readonly addon: string | undefined
  /** Place of each library. */
  readonly files: LibraryFiles
  /** "9.24.0" */
  readonly cudnn: string | undefined
  /** Undefined if no device opens. */
  readonly device: SessionInfo | undefined
  readonly attempts: readonly BackendAttempt[]
  /** Supported features beyond float32. */
  readonly features: readonly string[]
  /** What to do next; empty if everything works. */
  readonly advice: string
}

/**
 * Looks for all that the executor needs and reports the missing parts. Options are checked as by {@link
 * openCudnnBackend}.
 *
 * @example
 * ```ts
 * import { inspectCudnn } from '@cudnn-rnn/rnn/executors'
 *
 * const inspection = await inspectCudnn()
 * console.log(typeof inspection) // object
 * ```
 */
export async function inspectCudnn(options: CudnnBackendOptions = {}): Promise<CudnnReport> {
  checkBackendOptions(options)
  const loaded = loadAddon()
  if (loaded.addon === undefined) {
    const attempts = loaded.attempts.map((reason) => ({ name: 'addon', reason }))
    return { ...NOTHING, attempts, advice: loaded.advice }
  }
  const { files, cudnnVersion, attempts, advice } = openCudaLibraries(loaded.addon, options.libraryDir)
  const report = { ...NOTHING, addon: loaded.file, files, attempts, advice }
  if (cudnnVersion === undefined) return report
  const cudnn = versionText(cudnnVersion)
  try {
    using backend = await openCudnnBackend(options)
    return { ...report, cudnn, device: backend.device, features: featuresOf(backend.device), advice: '' }
  } catch (error) {
    if (!(error instanceof BackendUnavailableError)) throw error
    return { ...report, cudnn, attempts: [...attempts, ...error.attempts], advice: error.advice }
  }
}

const NOTHING: CudnnReport = {
  addon: undefined,
  files: {},
  cudnn: undefined,
  device: undefined,
  attempts: [],
  features: [],
  advice: '',
}

function featuresOf({ computeCapability, cudnnVersion, memoryPools }: SessionInfo): readonly string[] {
  return [
    ...(computeCapability >= 80 ? ['tf32'] : []),
    ...(computeCapability >= 53 ? ['float16'] : []),
    ...(computeCapability >= 80 && cudnnVersion >= 91_300 ? ['bfloat16'] : []),
    ...(memoryPools ? ['memory pools'] : []),
  ]
}
