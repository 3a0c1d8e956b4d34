import { isBackendTensor, type RnnStepper, type RnnStreamState, type TensorLike } from '@cudnn-rnn/backend'
import { codedTypeError, Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import { checkIsTensor } from '@cudnn-rnn/executor-kit'
import type { Stream } from './stream.js'
import { checkIsRows, checkIsState, streamBusy } from './stream_state.js'

/** A stream over an executor that steps on the calling thread. */
export class StepperStream extends Inspectable implements Stream {
  readonly #stepper: RnnStepper
  /** Steps that wait for a backend tensor to be read, or behind one that does. */
  #waiting = 0
  #disposed = false
  #previous: Promise<unknown> = Promise.resolve()

  constructor(stepper: RnnStepper) {
    super()
    this.#stepper = stepper
  }

  get batch(): number {
    return this.#stepper.batch
  }

  async step(input: TensorLike): Promise<Tensor> {
    const given = checkIsTensor('step a stream', 'input', input)
    if (this.#waiting === 0 && !isBackendTensor(given)) return this.#stepper.stepSync(given)
    // A host input that has to wait is copied, as the caller may reuse its memory meanwhile.
    const kept = isBackendTensor(given) ? given : { data: given.data.slice(), shape: given.shape }
    this.#waiting++
    const result = this.#previous
      .then(async () => this.#stepper.stepSync(isBackendTensor(kept) ? await kept.read() : kept))
      .finally(() => this.#waiting--)
    this.#previous = result.catch(() => undefined)
    return result
  }

  stepSync(input: Tensor, out?: Tensor): Tensor {
    checkIsHostTensor('input', input)
    if (out !== undefined) checkIsHostTensor('out', out)
    this.#checkIdle('step a stream synchronously')
    return this.#stepper.stepSync(input, out)
  }

  reset(rows?: readonly number[]): void {
    checkIsRows(rows)
    this.#checkIdle('reset a stream')
    this.#stepper.reset(rows)
  }

  async state(): Promise<RnnStreamState> {
    await this.#previous
    return this.#stepper.state()
  }

  restore(state: RnnStreamState): void {
    checkIsState(state)
    this.#checkIdle('restore the state of a stream')
    this.#stepper.restore(state)
  }

  dispose(): void {
    this.#disposed = true
    this.#stepper.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected override summary(): Summary {
    return { kind: 'Stream', batch: this.batch, waiting: this.#waiting, state: this.#disposed ? 'disposed' : 'live' }
  }

  #checkIdle(action: string): void {
    if (this.#waiting > 0) throw streamBusy(action)
  }
}

/** The stepper checks the rest: this allocates nothing. */
function checkIsHostTensor(name: string, tensor: Tensor): void {
  if (!isBackendTensor(tensor)) return
  throw codedTypeError('ERR_NOT_A_TENSOR', 'Cannot step a stream as stepSync takes host tensors: use step().', {
    argument: name,
  })
}
