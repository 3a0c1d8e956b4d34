import type { Backend, FloatDType } from '@cudnn-rnn/backend'
import type { Precision } from '@cudnn-rnn/cudnn'
import { openReferenceBackend } from '@cudnn-rnn/reference'

/** Options of {@link openBackend}; an executor ignores what it has no use for. */
export interface OpenBackendOptions {
  /** Element type of everything computed. Default float32. */
  readonly dtype?: FloatDType | undefined
  /** Index of the GPU. Default 0. */
  readonly device?: number | undefined
  /** Arithmetic of a GPU executor with float32 tensors. Default float32, true single precision. */
  readonly precision?: Precision | undefined
  /** Folder of NVIDIA's libraries, searched before everything else. Default CUDNN_RNN_LIBRARY_DIR. */
  readonly libraryDir?: string | undefined
  /** Threads of a CPU executor. Default: physical cores. */
  readonly threads?: number | undefined
}

/** One executor the facade can choose. */
export interface ExecutorRow {
  readonly name: string
  /** Undefined where this release has no such executor; then `absence` says so. */
  readonly open: ((options: OpenBackendOptions) => Promise<Backend>) | undefined
  /** What to tell about an executor that cannot be opened, and what to do. */
  readonly absence: { readonly reason: string; readonly advice: string }
}

/** Every executor, best first: the order of "auto". */
export const EXECUTORS: readonly ExecutorRow[] = [
  {
    name: 'cudnn',
    // Imported when asked for: the package needs Node.js, the facade does not.
    open: async ({ dtype, device, precision, libraryDir }) => {
      const { openCudnnBackend } = await import('@cudnn-rnn/cudnn')
      return openCudnnBackend({ dtype, device, precision, libraryDir })
    },
    absence: {
      reason: 'no NVIDIA GPU',
      advice: 'Use "auto" or "reference"; models and checkpoints are the same on every executor.',
    },
  },
  {
    name: 'cpu',
    open: undefined,
    absence: {
      reason: 'this release has no native CPU executor',
      advice: 'Use "auto" or "reference"; models and checkpoints are the same on every executor.',
    },
  },
  {
    name: 'reference',
    open: async ({ dtype }) => openReferenceBackend({ dtype }),
    absence: { reason: 'never absent', advice: '' },
  },
]
