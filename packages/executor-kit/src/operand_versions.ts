import { isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError } from './coded_error.js'
import type { VersionedTensor } from './executor_memory.js'

/** The tensors of its executor that a forward took and gave, which must not change before its backward: cuDNN reads them
 * again.
 *
 * @example
 * ```ts
 * import { OperandVersions } from '@cudnn-rnn/executor-kit'
 * import { hasErrorCode } from '@cudnn-rnn/rnn'
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend()
 * const params = backend.zeros([3])
 * const versions = new OperandVersions({ params })
 * backend.ops.accumulate(params, { data: Float32Array.of(1, 1, 1), shape: [3] })
 * try {
 *   versions.check()
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_TAPE_STALE')) // true
 * }
 * ```
 */
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
