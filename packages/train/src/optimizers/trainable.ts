import type { BackendTensor } from '@cudnn-rnn/backend'

/** A named tensor that training writes into: the models' `Variable`, an opaque buffer or a plain tensor. */
export interface Trainable {
  readonly name: string
  readonly value: BackendTensor
}
