import { isBackendTensor, type RnnStepper, type RnnStreamState, type TensorLike } from '@cudnn-rnn/backend'
import { codedTypeError, type Tensor } from '@cudnn-rnn/canonical'
import type { Stream } from './stream.js'

/** A stream over an executor that steps on the calling thread. */
export class StepperStream implements Stream {
  readonly #stepper: RnnStepper

  constructor(stepper: RnnStepper) {
    this.#stepper = stepper
  }

  get batch(): number {
    return this.#stepper.batch
  }

  async step(input: TensorLike): Promise<Tensor> {
    return this.#stepper.stepSync(isBackendTensor(input) ? await input.read() : input)
  }

  stepSync(input: Tensor, out?: Tensor): Tensor {
    if (isBackendTensor(input)) {
      throw codedTypeError('ERR_NOT_A_TENSOR', 'Cannot step a stream as stepSync takes host tensors: use step().')
    }
    return this.#stepper.stepSync(input, out)
  }

  reset(rows?: readonly number[]): void {
    this.#stepper.reset(rows)
  }

  async state(): Promise<RnnStreamState> {
    return this.#stepper.state()
  }

  restore(state: RnnStreamState): void {
    this.#stepper.restore(state)
  }

  dispose(): void {
    this.#stepper.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
