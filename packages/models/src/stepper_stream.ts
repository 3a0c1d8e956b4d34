import { isBackendTensor, type RnnStepper, type RnnStreamState, type TensorLike } from '@cudnn-rnn/backend'
import { codedTypeError, type Tensor } from '@cudnn-rnn/canonical'
import { checkIsTensor } from '@cudnn-rnn/executor-kit'
import type { Stream } from './stream.js'
import { checkIsRows, checkIsState, streamBusy } from './stream_state.js'

/** A stream over an executor that steps on the calling thread. */
export class StepperStream implements Stream {
  readonly #stepper: RnnStepper
  /** Steps that wait for a backend tensor to be read, or behind one that does. */
  #waiting = 0
  #previous: Promise<unknown> = Promise.resolve()

  constructor(stepper: RnnStepper) {
    this.#stepper = stepper
  }

  get batch(): number {
    return this.#stepper.batch
  }

  async step(input: TensorLike): Promise<Tensor> {
    checkIsTensor('step a stream', 'input', input)
    if (this.#waiting === 0 && !isBackendTensor(input)) return this.#stepper.stepSync(input)
    // A host input that has to wait is copied, as the caller may reuse its memory meanwhile.
    const kept = isBackendTensor(input) ? input : { data: input.data.slice(), shape: input.shape }
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
    this.#stepper.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  #checkIdle(action: string): void {
    if (this.#waiting > 0) throw streamBusy(action)
  }
}

function checkIsHostTensor(name: string, tensor: Tensor): void {
  if (isBackendTensor(tensor)) {
    throw codedTypeError('ERR_NOT_A_TENSOR', 'Cannot step a stream as stepSync takes host tensors: use step().')
  }
  // The full check is asked for only where it will throw, as it allocates; the stepper checks the sizes.
  if (!ArrayBuffer.isView(tensor?.data) || !Array.isArray(tensor.shape)) checkIsTensor('step a stream', name, tensor)
}
