import type { CanonicalParams, RnnDescriptor, Tensor } from '@cudnn-rnn/canonical'

/** How a saveable writes canonical tensors: keys and tensors one way, canonical tensors the other. */
export interface KeyScheme {
  /** Every key with its shape. */
  shapes(descriptor: RnnDescriptor): ReadonlyMap<string, readonly number[]>
  toKeys(descriptor: RnnDescriptor, canonical: CanonicalParams): ReadonlyMap<string, Tensor>
  fromKeys(descriptor: RnnDescriptor, tensors: ReadonlyMap<string, Tensor>): CanonicalParams
  /** Old files label shapes otherwise; then element counts are compared. */
  readonly anyShape: boolean
}
