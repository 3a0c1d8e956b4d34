import { checkArguments, FUNCTION } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor, TrainingSteps } from '@cudnn-rnn/ops'
import type { Lifetime } from '@cudnn-rnn/ops/executor'
import type { DeviceSession } from './device_session.js'

/** Training steps whose commands are recorded first and submitted together. */
export class CudnnTrainingSteps implements TrainingSteps {
  readonly whereFinite: TrainingSteps['whereFinite']
  readonly #session: DeviceSession
  readonly #life: Lifetime
  readonly #isRecorded: boolean

  /** @param isRecorded false if graphs are never used */
  constructor(
    session: DeviceSession,
    life: Lifetime,
    isRecorded: boolean,
    whereFinite: (scalars: readonly BackendTensor[], updates: () => void) => void,
  ) {
    this.#session = session
    this.#life = life
    this.#isRecorded = isRecorded
    this.whereFinite = whereFinite
  }

  /**
   * Runs `step` with its commands recorded, and submits them as one list at its end. Steps may nest or overlap; the
   * outermost end submits.
   */
  async run<Result>(step: () => Promise<Result>): Promise<Result> {
    const action = 'run a step'
    this.#life.check(action)
    checkArguments(action, { step }, { step: FUNCTION })
    if (!this.#isRecorded) return step()
    this.#session.beginStep()
    let result: Result
    try {
      result = await step()
    } catch (error) {
      // The first error of the step is the one to report.
      await this.#session.endStep().catch(() => {})
      throw error
    }
    await this.#session.endStep()
    return result
  }
}
