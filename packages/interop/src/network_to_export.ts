import { fields, listOf, OBJECT, TEXT } from '@cudnn-rnn/canonical/rules'
import type { CanonicalParams, FloatArray, RnnDescriptor, Tensor } from '@cudnn-rnn/canonical'

/** A network to write: an {@link ImportedNetwork}, or the result of a model's `paramsToCanonical`. */
export interface NetworkToExport {
  /** Prefix of its tensors in the file; may be empty. */
  readonly name: string
  readonly descriptor: RnnDescriptor
  readonly canonical: CanonicalParams
  /** [V,I]: a table that the network's input is looked up in. */
  readonly embedding?: Tensor<FloatArray>
  /** The layer above: kernel [D·H,V], bias [V]. */
  readonly dense?: { readonly kernel: Tensor<FloatArray>; readonly bias: Tensor<FloatArray> }
}

/** Rules of the fields of every network. */
export const NETWORK_FIELDS = {
  name: TEXT,
  descriptor: OBJECT,
  canonical: fields({ weights: listOf(OBJECT), biases: listOf(OBJECT) }),
}
