import type { CanonicalParams, RnnDescriptor, Tensor } from '@cudnn-rnn/canonical'
import type { CheckpointDType } from '@cudnn-rnn/checkpoint'

/** A tensor that lives on an executor; a backend tensor is one. */
interface ReadableTensor {
  readonly shape: readonly number[]
  /** If it is known without a read. */
  readonly dtype?: CheckpointDType | undefined
  read(): Promise<Tensor>
  dispose?(): void
}

/** A variable whose value is saved and restored; the models' `Variable` is one. */
export interface ParamVariable {
  readonly name: string
  readonly value: ReadableTensor
  /** Checks, then copies in. */
  assign(tensor: never): void | Promise<void>
}

/**
 * A model's `paramsToCanonical`, unbound. `selection` has the numbers of the tensors that are needed, the weights from 0 and
 * then the biases; a function may ignore it and return all.
 */
export type ParamsToCanonical = (
  params: never,
  selection?: ReadonlySet<number>,
) => Promise<CanonicalParams & { readonly descriptor: RnnDescriptor }>

/** A model's `canonicalToParams`, unbound. */
export type CanonicalToParams = (
  weights: CanonicalParams['weights'],
  biases: CanonicalParams['biases'],
) => ReadableTensor | Promise<ReadableTensor>
