import { checkedElsewhere, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import type { Backend, FloatDType } from '@cudnn-rnn/ops'
import type { InstructionSet, WeightFormat } from '@cudnn-rnn/cpu'
import type { Precision } from '@cudnn-rnn/cudnn'

export const OPEN_BACKEND_OPTIONS = {
  /** Element type of everything computed. Default float32. */
  dtype: checkedElsewhere<FloatDType | undefined>(),
  /** Index of the GPU. Default 0. */
  device: checkedElsewhere<number | undefined>(),
  /**
   * Arithmetic of a GPU executor with float32 tensors, and of the cpu executor, which takes float32 and bfloat16.
   * Default float32, true single precision.
   */
  precision: checkedElsewhere<Precision | undefined>(),
  /** Folder of NVIDIA's libraries, searched before everything else. Default CUDNN_RNN_LIBRARY_DIR. */
  libraryDir: checkedElsewhere<string | undefined>(),
  /** Threads of the cpu executor, default: physical cores; and of the wasm executor, default: half of the logical processors, at most 4. */
  threads: checkedElsewhere<number | undefined>(),
  /**
   * Instruction set of the CPU executor's kernels: avx512-vnni, avx512, avx2-vnni, avx2, neon-i8mm-bf16, neon-dotprod, neon or
   * portable. Default: the best there is.
   */
  instructionSet: checkedElsewhere<InstructionSet | undefined>(),
  /** Kernels of the wasm executor in place of those that its package has inlined: see its option of the same name. */
  module: checkedElsewhere<object | undefined>(),
  /** How a CPU executor's inference reads the matrices: float32 (the default), bfloat16 or int8. */
  weights: checkedElsewhere<WeightFormat | undefined>(),
  /** How the cpu executor's inference takes the other factor with int8 weights: float32 (the default) or int8. */
  activations: checkedElsewhere<'float32' | 'int8' | undefined>(),
}

/** Options of {@link openBackend}; an executor ignores options of other executors. */
export interface OpenBackendOptions extends OptionsOf<typeof OPEN_BACKEND_OPTIONS> {}

/** One executor the facade can choose. */
export interface ExecutorRow {
  readonly name: string
  /** Rejects with BackendUnavailableError, with the attempts and a remedy, if the executor cannot work. */
  readonly open: (options: OpenBackendOptions) => Promise<Backend>
}

/**
 * Every executor, best first: the order of "auto". A package is loaded when its executor is opened: an import of the
 * facade parses none of them, and "auto" parses no executor after the one that it chooses.
 */
export const EXECUTORS = [
  {
    name: 'cudnn',
    open: async ({ dtype, device, precision, libraryDir }) => {
      const { openCudnnBackend } = await import('@cudnn-rnn/cudnn')
      return openCudnnBackend({ dtype, device, precision, libraryDir })
    },
  },
  {
    name: 'cpu',
    open: async ({ dtype, threads, instructionSet, weights, precision, activations }) => {
      const { openCpuBackend } = await import('@cudnn-rnn/cpu')
      // The others are a GPU's.
      const own = precision === 'bfloat16' ? precision : undefined
      return openCpuBackend({ dtype, threads, instructionSet, weights, precision: own, activations })
    },
  },
  {
    name: 'wasm',
    open: async ({ dtype, weights, threads, module }) => {
      const { openWasmBackend } = await import('@cudnn-rnn/wasm')
      return openWasmBackend({ dtype, weights, threads, module })
    },
  },
  {
    name: 'reference',
    open: async ({ dtype }) => {
      const { openReferenceBackend } = await import('@cudnn-rnn/reference')
      return openReferenceBackend({ dtype })
    },
  },
] as const satisfies readonly ExecutorRow[]

/** Names that `openBackend` takes: "auto", or an executor. */
export type BackendName = 'auto' | (typeof EXECUTORS)[number]['name']
