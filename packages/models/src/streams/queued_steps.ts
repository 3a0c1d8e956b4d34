import { elementCount, type FloatArray, hiddenColumns, type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError, required } from '@cudnn-rnn/canonical/rules'
import {
  type AnyBackendTensor,
  type Backend,
  DTYPES,
  type FloatDType,
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
  checkTensor,
  type RowNumbers,
  StreamRows,
} from '@cudnn-rnn/ops/executor'
import type { CheckedStepper } from './stepper_stream.js'

const STEP = 'step a stream'

/** The steps of an executor that computes elsewhere. */
export class QueuedSteps implements CheckedStepper {
  readonly batch: number
  readonly #dtype: FloatDType
  readonly #descriptor: RnnDescriptor
  readonly #stepper: RnnQueuedStepper
  /** Parameters on the executor, which may be disposed. */
  readonly #params: AnyBackendTensor | undefined
  readonly #rows: StreamRows
  #disposed = false

  /** Throws the errors of `Rnn.forward` for these parameters; RangeError `ERR_INVALID_OPTION` for the batch. */
  constructor({ dtype }: Backend, rnn: Rnn, params: TensorLike, batch: number) {
    checkStreamBatch(batch)
    this.batch = batch
    this.#dtype = dtype
    this.#descriptor = rnn.descriptor
    this.#params = isBackendTensor(params) ? params : undefined
    this.#stepper = required(rnn.queuedStepper?.(params, batch), 'executors have a stepper of one of both kinds')
    this.#rows = new StreamRows(batch)
  }

  async step(input: Tensor): Promise<Tensor> {
    const { frames, isSingle, shape } = this.#checked(input)
    if (frames.shape[0] === 0) return this.#outputOf(shape, undefined)
    const output = await this.#stepper.step(frames)
    return isSingle ? { data: output.data, shape } : output
  }

  async stepRows(rows: Int32Array, input: Tensor): Promise<Tensor> {
    const { given, shape } = this.#checkedRows(rows, input)
    return rows.length === 0 ? this.#outputOf(shape, undefined) : this.#stepper.stepRows(rows, given)
  }

  stepSync(input: Tensor, out?: Tensor): Tensor {
    const { frames, shape } = this.#checked(checkIsHostTensor(STEP, 'input', input))
    const result = this.#outputOf(shape, out)
    if (frames.shape[0] > 0) this.#stepper.stepSync(frames, result.data as FloatArray)
    return out ?? result
  }

  stepRowsSync(rows: RowNumbers, input: Tensor, out?: Tensor): Tensor {
    const numbers = this.#rows.copyOf(STEP, rows)
    const { given, shape } = this.#checkedRows(numbers, checkIsHostTensor(STEP, 'input', input))
    const result = this.#outputOf(shape, out)
    if (numbers.length > 0) this.#stepper.stepRowsSync(numbers, given, result.data as FloatArray)
    return out ?? result
  }

  reset(rows?: RowNumbers): void {
    this.#checkAlive('reset a stream')
    this.#stepper.reset(rows && Int32Array.from(new Set(rows)))
  }

  async state(rows?: RowNumbers): Promise<RnnStreamState> {
    this.#checkAlive('read the state of a stream')
    return this.#stepper.state(rows && Int32Array.from(rows))
  }

  restore(state: RnnStreamState, rows?: RowNumbers): void {
    const action = 'restore the state of a stream'
    this.#checkAlive(action)
    const numbers = rows === undefined ? undefined : this.#rows.copyOf(action, rows)
    const batch = numbers?.length ?? this.batch
    this.#stepper.restore(checkedStreamState(this.#descriptor, this.#dtype, state, batch), numbers)
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#stepper.dispose()
  }

  /** The frames [T,B,I] of a step, and the shape of its result. */
  #checked(input: Tensor) {
    this.#checkCanStep()
    const { inputSize } = this.#descriptor
    const isSingle = input.shape.length === 2
    const steps = isSingle ? [] : ['T']
    const given = checkTensor(STEP, 'input', input, { dtype: this.#dtype, shape: [...steps, this.batch, inputSize] })
    const time = isSingle ? 1 : given.shape[0]
    if (time === 0) this.#checkParams()
    const shape = [...given.shape.slice(0, -1), hiddenColumns(this.#descriptor)]
    return { frames: { data: given.data, shape: [time, this.batch, inputSize] }, isSingle, shape }
  }

  #checkedRows({ length }: Int32Array, input: Tensor) {
    this.#checkCanStep()
    const given = checkTensor(STEP, 'input', input, { dtype: this.#dtype, shape: [length, this.#descriptor.inputSize] })
    if (length === 0) this.#checkParams()
    return { given, shape: [length, hiddenColumns(this.#descriptor)] }
  }

  /** `out`, if it has the shape of the result; a new tensor where it is left out. */
  #outputOf(shape: readonly number[], out: Tensor | undefined): Tensor {
    const dtype = this.#dtype
    if (out !== undefined) return checkTensor(STEP, 'out', checkIsHostTensor(STEP, 'out', out), { dtype, shape })
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
