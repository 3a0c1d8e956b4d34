import { NamedError } from '@cudnn-rnn/canonical/rules'

/** A tensor that has another shape or type than the model needs. */
export interface TensorMismatch {
  readonly key: string
  readonly expected: string
  readonly actual: string
}

/**
 * A checkpoint that does not match the saveables; nothing was assigned.
 *
 * @example
 * ```ts
 * import { writeCheckpoint } from '@cudnn-rnn/rnn'
 * import { RestoreError, Saver, TensorSaveable } from '@cudnn-rnn/rnn/saveable'
 *
 * await writeCheckpoint('model', [['bias', { data: Float32Array.of(1, 2), shape: [2] }]])
 * const kernel = { data: new Float32Array(4), shape: [2, 2] }
 * const saver = new Saver([new TensorSaveable('kernel', () => kernel, () => {})])
 * try {
 *   await saver.restore('model')
 * } catch (error) {
 *   if (error instanceof RestoreError) console.log(error.code, error.missing) // ERR_RESTORE_MISMATCH ['kernel']
 * }
 * ```
 */
export class RestoreError extends NamedError {
  static override readonly errorName = 'RestoreError'
  readonly prefix: string
  /** Keys that the checkpoint lacks. */
  readonly missing: readonly string[]
  /** Keys of the same saveables that a network of this structure does not have. */
  readonly extra: readonly string[]
  readonly misshapen: readonly TensorMismatch[]

  constructor(prefix: string, { missing, extra, misshapen }: Pick<RestoreError, 'missing' | 'extra' | 'misshapen'>) {
    const parts = [
      ...missing.map((key) => `missing ${key}`),
      ...extra.map((key) => `extra ${key}`),
      ...misshapen.map(({ key, expected, actual }) => `${key} must be ${expected} and is ${actual}`),
    ]
    super(
      'ERR_RESTORE_MISMATCH',
      `Cannot restore ${prefix} as it does not fit the model: ${parts.join('; ')}. Nothing was changed.`,
    )
    this.prefix = prefix
    this.missing = missing
    this.extra = extra
    this.misshapen = misshapen
  }
}
