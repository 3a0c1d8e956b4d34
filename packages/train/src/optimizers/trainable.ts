import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { Backend, BackendTensor } from '@cudnn-rnn/ops'

/** A named tensor that training writes into: the models' `Variable`, an opaque buffer or a plain tensor. */
export interface Trainable {
  readonly name: string
  readonly value: BackendTensor
  /** The executor of `value`, which an optimizer needs. */
  readonly backend?: Backend
}

/** Throws RangeError `ERR_GRADIENT_COUNT` if there is not one gradient per variable. */
export function checkGradientCount(
  action: string,
  gradients: readonly unknown[],
  variables: readonly Trainable[],
): void {
  if (gradients.length === variables.length) return
  throw codedRangeError(
    'ERR_GRADIENT_COUNT',
    `Cannot ${action} as there must be one per variable (${variables.length}): current number is ${gradients.length}`,
    { expected: variables.length, actual: gradients.length },
  )
}
