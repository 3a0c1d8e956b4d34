import type { TensorLike } from '@cudnn-rnn/backend'
import type { FloatArray, RnnDescriptor } from '@cudnn-rnn/canonical'
import type { LayerParams } from './layer_params.js'
import type { ReferenceMemory } from './reference_memory.js'

/** A network as a pass or a stream needs it: what to compute, where its parameters lie, and the memory to do it in. */
export interface PreparedNetwork {
  readonly descriptor: RnnDescriptor
  /** By pseudo-layer. */
  readonly layers: readonly LayerParams[]
  readonly memory: ReferenceMemory
  /** The elements of an opaque buffer of this network. Throws as `checkTensor`. */
  params(action: string, params: TensorLike): FloatArray
  /** Throws RangeError `ERR_BACKEND_DISPOSED`, `ERR_RNN_DISPOSED`. */
  checkAlive(action: string): void
}
