import {
  type Backend,
  isBackendTensor,
  type Rnn,
  type RnnStepper,
  type RnnStreamState,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { checkOptionNames, codedRangeError, codedTypeError, type Tensor } from '@cudnn-rnn/canonical'
import { ForwardStepper } from './forward_stepper.js'

export interface StreamOptions {
  /** B, independent streams stepped together. Default 1. */
  readonly batch?: number | undefined
}

/**
 * Independent streams of one model, stepped as one batch. The stream owns the carried state, so nobody forgets to pass
 * it on; states start at zero.
 */
export interface Stream {
  /** B */
  readonly batch: number
  /** One step [B,I] → [B,·], or T steps [T,B,I] → [T,B,·]; a new host tensor. Steps run in the order of the calls. */
  step(input: TensorLike): Promise<Tensor>
  /**
   * As {@link step}, at once on the calling thread; writes into `out` when given and then allocates nothing.
   * Throws RangeError `ERR_NO_SYNC_STEP` on executors that compute elsewhere.
   */
  stepSync(input: Tensor, out?: Tensor): Tensor
  /** Zeroes the state of all streams, or of the batch rows named. Throws RangeError `ERR_STREAM_ROW`. */
  reset(rows?: readonly number[]): void
  /** Copies of the carried states [L,B,·]. */
  state(): Promise<RnnStreamState>
  /** Throws RangeError `ERR_SHAPE` for states of another model or batch. */
  restore(state: RnnStreamState): void
  dispose(): void
  [Symbol.dispose](): void
}

/** Opens streams over the executor's own stepper, or over its forward where it has none. */
export function openStream(backend: Backend, rnn: Rnn, params: TensorLike, options: StreamOptions): Stream {
  checkOptionNames('open a stream', options, ['batch'])
  const batch = options.batch ?? 1
  if (!Number.isSafeInteger(batch) || batch < 1) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot open a stream as batch must be an integer >= 1: current value is ${batch}`,
      { option: 'batch', value: batch },
    )
  }
  if (rnn.descriptor.direction === 'bidirectional') {
    throw codedRangeError(
      'ERR_BIDIRECTIONAL_STREAM',
      'Cannot open a stream as a bidirectional model needs the whole sequence: use call() on it.',
    )
  }
  if (rnn.stepper !== undefined) return new StepperStream(rnn.stepper(params, batch))
  return new ForwardStepper(backend, rnn, params, batch)
}

/** A stream over an executor that steps on the calling thread. */
class StepperStream implements Stream {
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
