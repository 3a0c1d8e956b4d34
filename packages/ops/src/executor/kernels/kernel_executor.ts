import type { FloatArray, RnnDescriptor } from '@cudnn-rnn/canonical'
import type { HostMemory } from '../host/host_memory.js'
import type { TensorKernels } from '../host/tensor_rows.js'
import type {
  KernelNetwork,
  KernelOperations,
  KernelQuantizedWeights,
  KernelStepper,
  KernelTapeMemory,
  RegionMove,
} from './kernel_boundary.js'
import type { MatrixFormat } from './weight_format.js'

/** State shared by the parts of one open executor over the kernels of native/cpu. */
export interface KernelExecutor {
  readonly memory: HostMemory
  readonly operations: KernelOperations
  readonly tensorKernels: TensorKernels
  /** An array with undefined contents, for an operation that writes every element of it. */
  readonly allocateResult: (length: number) => FloatArray
  /** How the matrices of an inference are stored. */
  readonly weightFormat: MatrixFormat
  /** Whether networks that would not be faster in it are computed in float32. */
  readonly leavesSmall?: boolean
  readonly makeNetwork: (descriptor: RnnDescriptor) => KernelNetwork
  readonly makeTape: () => KernelTapeMemory
  readonly makeStepper: (network: KernelNetwork, batch: number) => KernelStepper
  /** Copies between opaque parameters and canonical tensors: from the tensors with `into`, else to them. */
  readonly moveRegions: (
    network: KernelNetwork,
    params: FloatArray,
    moves: readonly RegionMove[],
    into: boolean,
  ) => void
  /** @param key of weights that are the same in all threads: objects of one key hold one copy. */
  readonly makeQuantizedWeights: (key: string | undefined) => KernelQuantizedWeights
}
