import type { RnnDescriptor } from '@cudnn-rnn/canonical'
import type { HostMemory } from '@cudnn-rnn/executor-kit'
import type { LayerParams } from './layer_params.js'

/** A network as a pass or a stream needs it: what to compute, where its parameters lie, and the memory to do it in. */
export interface PreparedNetwork {
  readonly descriptor: RnnDescriptor
  /** By pseudo-layer. */
  readonly layers: readonly LayerParams[]
  readonly memory: HostMemory
}
