import {
  elementCount,
  type FloatArray,
  hiddenColumns,
  Inspectable,
  type RnnDescriptor,
  type Summary,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { codedRangeError, required } from '@cudnn-rnn/canonical/rules'
import {
  type AnyBackendTensor,
  type Backend,
  DTYPES,
  isBackendTensor,
  type Rnn,
  type RnnQueuedStepper,
  type RnnStreamState,
  type TensorLike,
} from '@cudnn-rnn/ops'
import {
  allocating,
  checkIsHostTensor,
  checkIsTensor,
  checkedStreamState,
  checkStreamBatch,
  checkStreamRows,
  checkTensor,
  type RowNumbers,
  StreamRows,
} from '@cudnn-rnn/ops/executor'
import type { Stream } from './stream.js'
import { streamBusy } from './stream_state.js'

const STEP = 'step a stream'

/** A stream over an executor that computes elsewhere. */
export class QueuedStream extends Inspectable implements Stream {
  readonly batch: number
  readonly #backend: Backend
  readonly #descriptor: RnnDescriptor
  readonly #stepper: RnnQueuedStepper
  /** Parameters on the executor, which may be disposed. */
  readonly #params: AnyBackendTensor | undefined
  readonly #rows: StreamRows
  /** The step before: steps run in the order of the calls, however they are awaited. */
  #previous: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #disposed = false

  /** Throws the errors of `Rnn.forward` for these parameters; RangeError `ERR_INVALID_OPTION` for the batch. */
  constructor(backend: Backend, rnn: Rnn, params: TensorLike, batch: number) {
    super()
    checkStreamBatch(batch)
    this.#backend = backend
    this.#descriptor = rnn.descriptor
    this.#params = isBackendTensor(params) ? params : undefined
    this.batch = batch
    this.#stepper = required(rnn.queuedStepper?.(params, batch), 'executors have a stepper of one of both kinds')
    this.#rows = new StreamRows(batch)
  }

  async step(input: TensorLike): Promise<Tensor> {
    return this.#inOrder(input, (given) => this.#step(given))
  }

  async stepRows(rows: RowNumbers, input: TensorLike): Promise<Tensor> {
    const numbers = this.#rows.copyOf(STEP, rows)
    return this.#inOrder(input, (given) => this.#stepRows(numbers, given))
  }

  stepSync(input: Tensor, out?: Tensor): Tensor {
    const { given, target } = this.#synchronous(input, out)
    const { inputSize } = this.#descriptor
    const { dtype } = this.#backend
    const isSingle = given.shape.length === 2
    const time = isSingle ? 1 : given.shape[0]
    const steps = isSingle ? [] : [time]
    checkTensor(STEP, 'input', given, { dtype, shape: [...steps, this.batch, inputSize] })
    const result = this.#outputOf([...steps, this.batch, hiddenColumns(this.#descriptor)], target)
    const frames = { data: given.data, shape: [time, this.batch, inputSize] }
    if (time > 0) this.#stepper.stepSync(frames, result.data as FloatArray)
    else this.#checkParams()
    return out ?? result
  }

  stepRowsSync(rows: RowNumbers, input: Tensor, out?: Tensor): Tensor {
    const { given, target } = this.#synchronous(input, out)
    const { inputSize } = this.#descriptor
    const { dtype } = this.#backend
    const numbers = this.#rows.copyOf(STEP, rows)
    checkTensor(STEP, 'input', given, { dtype, shape: [numbers.length, inputSize] })
    const result = this.#outputOf([numbers.length, hiddenColumns(this.#descriptor)], target)
    if (numbers.length > 0) this.#stepper.stepRowsSync(numbers, given, result.data as FloatArray)
    else this.#checkParams()
    return out ?? result
  }

  reset(rows?: RowNumbers): void {
    const numbers = rows === undefined ? undefined : Int32Array.from(new Set(checkStreamRows(this.batch, rows)))
    this.#checkAlive('reset a stream')
    if (this.#waiting > 0) throw streamBusy('reset a stream')
    this.#stepper.reset(numbers)
  }

  async state(rows?: RowNumbers): Promise<RnnStreamState> {
    const action = 'read the state of a stream'
    const numbers = rows === undefined ? undefined : this.#rows.copyOf(action, rows)
    if (this.#waiting > 0) await this.#previous
    this.#checkAlive(action)
    return this.#stepper.state(numbers)
  }

  restore(state: RnnStreamState, rows?: RowNumbers): void {
    const action = 'restore the state of a stream'
    this.#checkAlive(action)
    if (this.#waiting > 0) throw streamBusy(action)
    const numbers = rows === undefined ? undefined : this.#rows.copyOf(action, rows)
    const batch = numbers?.length ?? this.batch
    this.#stepper.restore(checkedStreamState(this.#descriptor, this.#backend.dtype, state, batch), numbers)
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#stepper.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected override summary(): Summary {
    return { kind: 'Stream', batch: this.batch, waiting: this.#waiting, state: this.#disposed ? 'disposed' : 'live' }
  }

  /** Runs a step after the ones called before it. */
  #inOrder(input: TensorLike, run: (given: Tensor) => Promise<Tensor>): Promise<Tensor> {
    const given = checkIsTensor(STEP, 'input', input)
    // A host input is copied, as the caller may reuse its memory before the steps queued earlier are done.
    const kept = isBackendTensor(given) ? given : { data: given.data.slice(), shape: given.shape }
    this.#waiting++
    const result = this.#previous
      .then(async () => {
        const frames = isBackendTensor(kept) ? await kept.read() : kept
        this.#checkCanStep()
        return run(frames)
      })
      .finally(() => this.#waiting--)
    this.#previous = result.catch(() => undefined)
    return result
  }

  async #step(input: Tensor): Promise<Tensor> {
    const { inputSize } = this.#descriptor
    const { dtype } = this.#backend
    const isSingle = input.shape.length === 2
    const shape = [...(isSingle ? [] : ['T']), this.batch, inputSize]
    const { data } = checkTensor(STEP, 'input', input, { dtype, shape })
    const time = isSingle ? 1 : input.shape[0]
    const columns = hiddenColumns(this.#descriptor)
    if (time === 0) {
      this.#checkParams()
      return { data: new DTYPES[dtype].array(0), shape: [0, this.batch, columns] }
    }
    const output = await this.#stepper.step({ data, shape: [time, this.batch, inputSize] })
    return isSingle ? { data: output.data, shape: [this.batch, columns] } : output
  }

  async #stepRows(rows: Int32Array, input: Tensor): Promise<Tensor> {
    const { inputSize } = this.#descriptor
    const { dtype } = this.#backend
    const given = checkTensor(STEP, 'input', input, { dtype, shape: [rows.length, inputSize] })
    if (rows.length === 0) {
      this.#checkParams()
      return { data: new DTYPES[dtype].array(0), shape: [0, hiddenColumns(this.#descriptor)] }
    }
    return this.#stepper.stepRows(rows, given)
  }

  /** The arguments of a step on the calling thread, with each field read once. */
  #synchronous(input: Tensor, out: Tensor | undefined) {
    const given = checkIsHostTensor(STEP, 'input', input)
    const target = out === undefined ? undefined : checkIsHostTensor(STEP, 'out', out)
    this.#checkCanStep()
    if (this.#waiting > 0) throw streamBusy('step a stream synchronously')
    return { given, target }
  }

  /** `target`, if it has the shape of the result; a new tensor where it is left out. */
  #outputOf(shape: readonly number[], target: Tensor | undefined): Tensor {
    const { dtype } = this.#backend
    if (target !== undefined) return checkTensor(STEP, 'out', target, { dtype, shape })
    return { data: allocating(STEP, () => new DTYPES[dtype].array(elementCount(shape)) as FloatArray), shape }
  }

  /** Made before the arguments are checked, as a stepper on the calling thread does. */
  #checkCanStep(): void {
    this.#checkAlive(STEP)
    this.#stepper.checkCanStep()
  }

  /** For steps of no frame: the stepper checks the parameters of all others. */
  #checkParams(): void {
    if (this.#params !== undefined) checkIsTensor(STEP, 'params', this.#params)
  }

  #checkAlive(action: string): void {
    if (!this.#disposed) return
    throw codedRangeError('ERR_STREAM_DISPOSED', `Cannot ${action} as it was disposed`)
  }
}
