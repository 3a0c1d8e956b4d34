import type { Backend, FloatDType } from '@cudnn-rnn/backend'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openReferenceBackend } from '@cudnn-rnn/reference'

/** Options of {@link openBackend}; an executor ignores what it has no use for. */
export interface OpenBackendOptions {
  /** Element type of everything computed. Default float32. */
  readonly dtype?: FloatDType | undefined
  /** Index of the GPU. Default 0. */
  readonly device?: number | undefined
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
    open: undefined,
    absence: {
      reason: 'this release has no cuDNN executor',
      advice: 'Use "auto" or "reference"; models and checkpoints are the same on every executor.',
    },
  },
  {
    name: 'cpu',
    open: async ({ dtype, threads }) => openCpuBackend({ dtype, threads }),
    absence: {
      reason: 'its native addon cannot be loaded',
      advice:
        'Use "auto" or "reference", or build the addon where a C++ compiler and CMake are: pnpm build:native. Models and checkpoints are the same on every executor.',
    },
  },
  {
    name: 'reference',
    open: async ({ dtype }) => openReferenceBackend({ dtype }),
    absence: { reason: 'never absent', advice: '' },
  },
]
