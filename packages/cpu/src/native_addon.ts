import type { FloatArray } from '@cudnn-rnn/canonical'
import type { KernelNetwork, KernelOperations, KernelStepper, KernelTapeMemory } from '@cudnn-rnn/ops/executor'
import type { InstructionSet } from './instruction_set.js'

export interface NativeNetwork extends KernelNetwork {
  /** @param side 0 input, 1 recurrent, 2 projection. @param into true copies from `canonical` into `params`. */
  moveRegion(
    params: FloatArray,
    canonical: FloatArray,
    pseudoLayer: number,
    side: number,
    gate: number,
    isBias: boolean,
    into: boolean,
  ): void
}

interface NativeQuantizedWeights {
  /** Objects and queued operations that hold the copy, in all threads. */
  owners(): number
}

/** Operations are queued. */
export interface NativeExecutor extends KernelOperations {
  /** panelOrder: of the kernels' panels, and so of opaque buffers; kernels.h of native/cpu explains it. */
  describe(): {
    readonly instructionSet: InstructionSet
    readonly threads: number
    readonly panelOrder: 'rows' | 'chunks'
  }
  /** Memory with undefined contents for a result; it serves a later one when JavaScript can reach it no more. */
  resultBuffer(bytes: number): ArrayBuffer
  completed(job: number): boolean
  /** Resolves when operation `job` is done; rejects with its error, or when the executor is closed before. */
  done(job: number): Promise<void>
  close(): void
  /** Jobs of `TensorKernels`; their numbers: native/cpu/src/binding/dense_jobs.cc. */
  elements(job: TensorJob): number
  reduce(job: TensorJob): number
  products(job: {
    readonly c: FloatArray
    readonly a: FloatArray
    readonly b: FloatArray
    readonly sizes: Float64Array
  }): number
}

interface TensorJob {
  /** The result, then the arrays that are read. */
  readonly operands: readonly FloatArray[]
  readonly numbers: Float64Array
}

/** What native/cpu exports. */
export interface NativeAddon {
  /** Instruction sets that the kernels exist in and this processor has, best first. */
  instructionSets(): InstructionSet[]
  physicalCores(): number
  /** Bytes from the beginning of a buffer, or of a view, to the first multiple of 64. */
  alignedOffset(memory: ArrayBuffer | Uint8Array): number
  /** Applies an activation in place, a multiple of 16 elements; for the measurement of its error. */
  activation(instructionSet: InstructionSet, name: 'sigmoid' | 'tanh', values: FloatArray): void
  /** @param roundsProducts whether training and dense layers round the factors of products to bfloat16. */
  readonly NativeExecutor: new (
    instructionSet: InstructionSet,
    threads: number,
    float64: boolean,
    roundsProducts: boolean,
  ) => NativeExecutor
  /** In the layout of the executor's instruction set and element type; of `networkNumbers`. */
  readonly NativeNetwork: new (
    executor: NativeExecutor,
    numbers: Float64Array,
  ) => NativeNetwork
  /** @param key of weights that are the same in all threads: objects of one key hold one copy. */
  readonly NativeQuantizedWeights: new (
    key?: string,
  ) => NativeQuantizedWeights
  readonly NativeTape: new () => KernelTapeMemory
  readonly NativeStepper: new (
    executor: NativeExecutor,
    network: KernelNetwork,
    batch: number,
    format: number,
  ) => KernelStepper
}
