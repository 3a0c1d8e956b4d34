import type { RnnDescriptor } from '@cudnn-rnn/canonical'
import type { HostMemory } from '@cudnn-rnn/ops/executor'
import type { LayerParams } from './layer_params.js'

/** A network ready for a pass or a stream: its descriptor, the positions of its parameters, and its memory. */
export interface PreparedNetwork {
  readonly descriptor: RnnDescriptor
  /** By pseudo-layer. */
  readonly layers: readonly LayerParams[]
  readonly memory: HostMemory
}
