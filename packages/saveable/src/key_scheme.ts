import { required } from '@cudnn-rnn/canonical/rules'
import type { CanonicalParams, RnnDescriptor, Tensor } from '@cudnn-rnn/canonical'

/** Tensors of a checkpoint that are made of the same canonical tensors, and of no others. */
export interface SchemePart {
  readonly keys: readonly string[]
  /** Numbers of those canonical tensors, the weights from 0 and then the biases. */
  readonly numbers: readonly number[]
  /** @param tensors in the order of `numbers`. */
  toKeys(tensors: readonly Tensor[]): ReadonlyMap<string, Tensor>
}

/** How a saveable writes canonical tensors: keys and tensors one way, canonical tensors the other. */
export interface KeyScheme {
  /** Every key with its shape. */
  shapes(descriptor: RnnDescriptor): ReadonlyMap<string, readonly number[]>
  /** The tensors in portions that are written one by one, so that a save needs memory for a part alone. */
  parts(descriptor: RnnDescriptor): readonly SchemePart[]
  fromKeys(descriptor: RnnDescriptor, tensors: ReadonlyMap<string, Tensor>): CanonicalParams
  /** Old files label shapes otherwise; then element counts are compared. */
  readonly anyShape: boolean
}

/** The tensors of a network under the keys of a scheme, from its canonical tensors: all weights, then all biases. */
export function toKeys(scheme: KeyScheme, descriptor: RnnDescriptor, tensors: readonly Tensor[]): Map<string, Tensor> {
  const parts = scheme.parts(descriptor)
  return new Map(parts.flatMap((part) => [...part.toKeys(selected(part, tensors))]))
}

/** The canonical tensors of a part among all of the network. */
export function selected({ numbers }: SchemePart, tensors: readonly Tensor[]): Tensor[] {
  return numbers.map((number) => required(tensors[number], 'a conversion gives a tensor for each region'))
}
