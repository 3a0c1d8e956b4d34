import { NamedError } from '@cudnn-rnn/canonical/rules'

/**
 * Training met too many gradients that were not finite, one after the other. The variables hold the last good update.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { Dataset, fit, NonFiniteError, Sgd } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const weight = { name: 'weight', backend, value: backend.zeros([1]) }
 * const gradient = { data: Float32Array.of(Number.NaN), shape: [1] }
 * const batchGradients = async () => ({ loss: Number.NaN, gradients: [backend.tensor(gradient)] })
 * const data = Dataset.fromArray([1]).repeat()
 * const optimizer = new Sgd([weight])
 * try {
 *   await fit({ data, batchGradients, optimizer, learningRate: 0.1, maxSteps: 100, maxSkipped: 3 })
 * } catch (error) {
 *   if (error instanceof NonFiniteError) console.log(error.code, error.skipped) // ERR_NON_FINITE_GRADIENTS 3
 * }
 * ```
 */
export class NonFiniteError extends NamedError {
  static override readonly errorName = 'NonFiniteError'
  readonly step: number
  readonly skipped: number

  constructor(step: number, skipped: number) {
    super(
      'ERR_NON_FINITE_GRADIENTS',
      `Cannot go on training as the gradients must be finite: they were not in ${skipped} steps up to step ${step}. Lower the learning rate, clip the gradients, or look for NaN and infinities in the data.`,
    )
    this.step = step
    this.skipped = skipped
  }
}
