import type { Backend, BackendTensor } from '@cudnn-rnn/ops'

/** A named tensor that training writes into: the models' `Variable`, an opaque buffer or a plain tensor. */
export interface Trainable {
  readonly name: string
  readonly value: BackendTensor
  /** The executor of `value`, which an optimizer needs. */
  readonly backend?: Backend
}
