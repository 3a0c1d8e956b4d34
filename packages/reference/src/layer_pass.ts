import type { FloatArray, RnnDescriptor } from '@cudnn-rnn/canonical'
import type { LayerParams } from './layer_params.js'
import type { TimeOrder } from './time_order.js'

export interface LayerPass {
  readonly descriptor: RnnDescriptor
  /** layer·D + direction */
  readonly pseudoLayer: number
  readonly params: LayerParams
  /** The opaque buffer. */
  readonly flat: FloatArray
  readonly order: TimeOrder
  /** T */
  readonly time: number
  /** B */
  readonly batch: number
  /** Columns of the layer's output, both directions side by side; this one's begin at `outputColumn`. */
  readonly outputColumns: number
  readonly outputColumn: number
  readonly allocate: (length: number) => FloatArray
}
