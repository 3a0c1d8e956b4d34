import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import type { VersionedTensor } from './executor_memory.js'

/** again. */
export class OperandVersions {
  readonly #noted: (readonly [string, VersionedTensor, number])[] = []

  /** @param operands by their names in the public API; host tensors are the executor's to copy. */
  constructor(operands: Readonly<Record<string, TensorLike | null | undefined>>) {
    for (const name in operands) {
      const operand = operands[name]
      if (isBackendTensor(operand)) this.note(name, operand as VersionedTensor)
    }
  }

  note(name: string, tensor: VersionedTensor): void {
    this.#noted.push([name, tensor, tensor.version])
  }

  /** Throws RangeError `ERR_TAPE_STALE` when one was overwritten since. */
  check(): void {
    for (const [name, tensor, version] of this.#noted) {
      if (tensor.version === version) continue
      throw codedRangeError(
        'ERR_TAPE_STALE',
        `Cannot run backward as ${name} must be as the forward left it: it was overwritten since. Call gradients() before the update.`,
        { argument: name },
      )
    }
  }
}
