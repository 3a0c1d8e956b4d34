/** Training met too many gradients that were not finite, one after the other. The variables hold the last good update. */
export class NonFiniteError extends Error {
  override readonly name = 'NonFiniteError'
  readonly code = 'ERR_NON_FINITE_GRADIENTS'
  readonly step: number
  readonly skipped: number

  constructor(step: number, skipped: number) {
    super(
      `Cannot go on training as the gradients must be finite: they were not in ${skipped} steps up to step ${step}. Lower the learning rate, clip the gradients, or look for infinities in the data.`,
    )
    this.step = step
    this.skipped = skipped
  }
}
