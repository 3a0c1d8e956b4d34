import { type FloatArray, Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import { codedTypeError, inTurn } from '@cudnn-rnn/canonical/rules'
import { type FloatDType, isBackendTensor, type RnnStepper, type RnnStreamState } from '@cudnn-rnn/ops'
import {
  checkIsTensor,
  checkStreamRows,
  type Frame,
  frameTensor,
  type RowNumbers,
  StreamRows,
  tensorsOfState,
} from '@cudnn-rnn/ops/executor'
import type { Stream } from './stream.js'
import { streamBusy } from './stream_state.js'

/** The steps of an executor, whose arguments it checks. */
export interface CheckedStepper extends Omit<RnnStepper, 'state'> {
  state(rows?: RowNumbers): RnnStreamState | Promise<RnnStreamState>
  /** Steps elsewhere; absent if the executor steps on the calling thread. */
  step?(input: Tensor): Promise<Tensor>
  stepRows?(rows: Int32Array, input: Tensor): Promise<Tensor>
}

/** A stream over the steps of an executor. */
export class StepperStream extends Inspectable implements Stream {
  readonly #stepper: CheckedStepper
  /** I */
  readonly #columns: number
  readonly #dtype: FloatDType
  readonly #rows: StreamRows
  /** Steps that wait for a backend tensor to be read, or are computed elsewhere, and those behind them. */
  #waiting = 0
  #disposed = false
  #previous: Promise<unknown> = Promise.resolve()

  constructor(stepper: CheckedStepper, columns: number, dtype: FloatDType) {
    super()
    this.#stepper = stepper
    this.#columns = columns
    this.#dtype = dtype
    this.#rows = new StreamRows(stepper.batch)
  }

  get batch(): number {
    return this.#stepper.batch
  }

  step(input: Frame): Promise<Tensor> {
    const step = (given: Tensor) => this.#stepper.step?.(given) ?? this.#stepper.stepSync(given)
    return inTurn(this.#inOrder(this.batch, input, step))
  }

  async stepRows(rows: RowNumbers, input: Frame): Promise<Tensor> {
    const numbers = this.#rows.copyOf('step a stream', rows)
    const step = (given: Tensor) =>
      this.#stepper.stepRows?.(numbers, given) ?? this.#stepper.stepRowsSync(numbers, given)
    return inTurn(this.#inOrder(numbers.length, input, step))
  }

  stepSync(input: Tensor | FloatArray | readonly number[], out?: Tensor): Tensor {
    return this.#stepper.stepSync(this.#syncInput(this.batch, input, out), out)
  }

  stepRowsSync(rows: RowNumbers, input: Tensor | FloatArray | readonly number[], out?: Tensor): Tensor {
    return this.#stepper.stepRowsSync(rows, this.#syncInput(rows?.length, input, out), out)
  }

  reset(rows?: RowNumbers): void {
    const numbers = rows === undefined ? undefined : checkStreamRows(this.batch, rows)
    this.#checkIdle('reset a stream')
    this.#stepper.reset(numbers)
  }

  async state(rows?: RowNumbers): Promise<RnnStreamState> {
    const numbers = rows === undefined ? undefined : this.#rows.copyOf('read the state of a stream', rows)
    // A microtask would let steps and changes that are called afterwards come first.
    if (this.#waiting > 0) await this.#previous
    return this.#stepper.state(numbers)
  }

  restore(state: RnnStreamState, rows?: RowNumbers): void {
    const tensors = tensorsOfState(state)
    this.#checkIdle('restore the state of a stream')
    this.#stepper.restore(tensors, rows)
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

  /** The stepper checks the rest: this allocates nothing for a tensor. */
  #syncInput(rows: number, frame: Tensor | FloatArray | readonly number[], out: Tensor | undefined): Tensor {
    const input = frameTensor(frame, [rows, this.#columns], this.#dtype)
    if (isBackendTensor(input) || isBackendTensor(out)) {
      throw codedTypeError('ERR_NOT_A_TENSOR', 'Cannot step a stream as stepSync takes host tensors: use step().', {
        argument: isBackendTensor(input) ? 'input' : 'out',
      })
    }
    this.#checkIdle('step a stream synchronously')
    return input
  }

  /** Runs a step after the ones called before it: immediately where none of them waits and the input is at hand. */
  async #inOrder(rows: number, frame: Frame, run: (given: Tensor) => Tensor | Promise<Tensor>): Promise<Tensor> {
    const given = checkIsTensor('step a stream', 'input', frameTensor(frame, [rows, this.#columns], this.#dtype))
    const isAtHand = this.#waiting === 0 && this.#stepper.step === undefined && !isBackendTensor(given)
    if (isAtHand) return run(given)
    // A host input that has to wait is copied, as the caller may reuse its memory meanwhile.
    const kept = isBackendTensor(given) ? given : { data: given.data.slice(), shape: given.shape }
    this.#waiting++
    const result = this.#previous
      .then(async () => run(isBackendTensor(kept) ? await kept.read() : kept))
      .finally(() => this.#waiting--)
    this.#previous = result.catch(() => undefined)
    return result
  }

  #checkIdle(action: string): void {
    if (this.#waiting > 0) throw streamBusy(action)
  }
}
