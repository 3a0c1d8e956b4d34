import {
  describeValue,
  elementCount,
  type FloatArray,
  hiddenColumns,
  Inspectable,
  type RnnDescriptor,
  type Summary,
  type Tensor,
} from '@cudnn-rnn/canonical'
import {
  arrayTypeOf,
  checkIsObject,
  codedRangeError,
  codedTypeError,
  invalidOption,
  liveLength,
} from '@cudnn-rnn/canonical/rules'
import { DTYPES, isBackendTensor, type RnnStepper, type RnnStreamState, type TensorLike } from '@cudnn-rnn/ops'
import { type PassShapes, passShapes } from '../arguments/pass_shapes.js'
import { checkCellState } from '../arguments/rnn_arguments.js'
import { checkStreamRows, type RowNumbers, StreamRows } from '../arguments/stream_rows.js'
import { checkIsTensor, checkShape, checkTensor } from '../arguments/tensor_arguments.js'
import type { LedgerEntry } from '../memory/ledger.js'
import { Lifetime } from '../memory/lifetime.js'
import type { HostMemory } from './host_memory.js'

/** A stream as its executor computes it, on the calling thread. Arguments were checked. */
export interface StreamKernel {
  /** Advances by `steps` time steps: input [T,B,I] to output [T,B,P or H]. Called often: allocates nothing. */
  step(input: FloatArray, output: FloatArray, steps: number): void
  /**
   * Advances the first `count` batch rows of `rows` by one time step, and no others: input [count,I] to output
   * [count,P or H]. Called often: copies no state of other rows.
   */
  stepRows(rows: Int32Array, count: number, input: FloatArray, output: FloatArray): void
  /** Zeroes the state of one batch row. */
  resetRow(row: number): void
  /**
   * Copies the states of the first `count` batch rows of `rows` to `h` [L,count,P or H] and `c` [L,count,H] (null but
   * for LSTM), or with `restoring` from them. Without `rows`, all B rows in their order.
   */
  moveState(h: FloatArray, c: FloatArray | null, restoring: boolean, rows: Int32Array | null, count: number): void
}

/**
 * Checks the arguments of a new stream, before its kernel is made.
 *
 * @throws RangeError `ERR_BIDIRECTIONAL_STREAM`; `ERR_INVALID_OPTION` for a batch that is not an integer >= 1
 */
export function checkStream(descriptor: RnnDescriptor, batch: number): void {
  if (descriptor.direction === 'bidirectional') {
    throw codedRangeError(
      'ERR_BIDIRECTIONAL_STREAM',
      'Cannot open a stream as a bidirectional network needs the whole sequence: use call() on it.',
    )
  }
  checkStreamBatch(batch)
}

export interface StreamOwner {
  readonly memory: HostMemory
  /** Life of the network. */
  readonly life: Lifetime
  readonly descriptor: RnnDescriptor
  readonly params: TensorLike
}

/** Inference of a unidirectional network one time step at a time. */
export class HostStepper extends Inspectable implements RnnStepper {
  readonly batch: number
  readonly #memory: HostMemory
  readonly #life: Lifetime
  readonly #networkLife: Lifetime
  readonly #entry: LedgerEntry
  readonly #params: TensorLike
  readonly #paramsSize: number
  readonly #descriptor: RnnDescriptor
  readonly #kernel: StreamKernel
  readonly #arrayType: string
  readonly #rows: StreamRows

  /** The arguments have passed {@link checkStream}. */
  constructor({ memory, life, descriptor, params }: StreamOwner, batch: number, kernel: StreamKernel) {
    super()
    this.batch = batch
    this.#memory = memory
    this.#life = new Lifetime('stepper', memory.life)
    this.#networkLife = life
    this.#params = params
    this.#paramsSize = elementCount(params.shape)
    this.#descriptor = descriptor
    this.#kernel = kernel
    this.#arrayType = DTYPES[memory.dtype].array.name
    this.#rows = new StreamRows(batch)
    this.#entry = memory.ledger.enter('steppers', this)
  }

  stepSync(input: Tensor, out?: Tensor): Tensor {
    const action = 'step a stream'
    this.#life.check(action)
    this.#networkLife.check(action)
    const { inputSize } = this.#descriptor
    const columns = hiddenColumns(this.#descriptor)
    // Each field of a caller's object is read once: the kernel gets the checked value.
    const data = input?.data
    const shape = input?.shape
    const rank = Array.isArray(shape) ? shape.length : 0
    const steps = rank === 3 ? shape[0] : 1
    if (!this.#fits(data, shape, this.batch, inputSize, steps)) {
      this.#refuse('input', input, rank === 3 ? [steps] : [], this.batch, inputSize)
    }
    this.#checkParams(action)
    if (out === undefined) {
      const made = this.#memory.allocate(steps * this.batch * columns)
      this.#kernel.step(data as FloatArray, made, steps)
      return { data: made, shape: rank === 3 ? [steps, this.batch, columns] : [this.batch, columns] }
    }
    const outData = out?.data
    const outShape = out?.shape
    const outRank = Array.isArray(outShape) ? outShape.length : 0
    if (!(outRank === rank && this.#fits(outData, outShape, this.batch, columns, steps))) {
      this.#refuse('out', out, rank === 3 ? [steps] : [], this.batch, columns)
    }
    this.#kernel.step(data as FloatArray, outData as FloatArray, steps)
    return out
  }

  /** Throws TypeError, RangeError `ERR_STREAM_ROW`; otherwise as {@link stepSync}. */
  stepRowsSync(rows: RowNumbers, input: Tensor, out?: Tensor): Tensor {
    const action = 'step a stream'
    this.#life.check(action)
    this.#networkLife.check(action)
    const { inputSize } = this.#descriptor
    const columns = hiddenColumns(this.#descriptor)
    // The caller's objects are read before the rows are taken: a getter of theirs may take other rows.
    const data = input?.data
    const shape = input?.shape
    const outData = out?.data
    const outShape = out?.shape
    const count = this.#rows.take(action, rows)
    if (shape?.length !== 2 || !this.#fits(data, shape, count, inputSize, 1)) {
      this.#refuse('input', input, [], count, inputSize)
    }
    this.#checkParams(action)
    if (out === undefined) {
      const made = this.#memory.allocate(count * columns)
      if (count > 0) this.#kernel.stepRows(this.#rows.numbers, count, data as FloatArray, made)
      return { data: made, shape: [count, columns] }
    }
    if (outShape?.length !== 2 || !this.#fits(outData as Tensor['data'], outShape, count, columns, 1)) {
      this.#refuse('out', out, [], count, columns)
    }
    if (count > 0) this.#kernel.stepRows(this.#rows.numbers, count, data as FloatArray, outData as FloatArray)
    return out
  }

  /** Throws TypeError, RangeError `ERR_STREAM_ROW`. */
  reset(rows?: RowNumbers): void {
    this.#life.check('reset a stream')
    if (rows !== undefined) for (const row of checkStreamRows(this.batch, rows)) this.#kernel.resetRow(row)
    else for (let row = 0; row < this.batch; row++) this.#kernel.resetRow(row)
  }

  /** Throws TypeError, RangeError `ERR_STREAM_ROW`. */
  state(rows?: RowNumbers): RnnStreamState {
    const action = 'read the state of a stream'
    this.#life.check(action)
    const count = rows === undefined ? this.batch : this.#rows.take(action, rows)
    const zeros = (shape: readonly number[]) => ({ data: this.#memory.allocate(elementCount(shape)), shape })
    const shapes = this.#stateShapes(count)
    const h = zeros(shapes.h)
    const c = shapes.c && zeros(shapes.c)
    this.#kernel.moveState(h.data, c?.data ?? null, false, rows === undefined ? null : this.#rows.numbers, count)
    return { h, c }
  }

  /** Throws TypeError, RangeError `ERR_STREAM_ROW`; RangeError `ERR_SHAPE`. */
  restore(state: RnnStreamState, rows?: RowNumbers): void {
    const action = 'restore the state of a stream'
    this.#life.check(action)
    checkIsObject(action, 'state', state)
    const { dtype } = this.#memory
    const given: { readonly h: Tensor; readonly c: Tensor | undefined } = { h: state.h, c: state.c as Tensor }
    checkCellState(action, 'c', given.c, this.#descriptor)
    const h = checkTensor(action, 'h', given.h, { dtype })
    const c = this.#stateShapes(1).c && checkTensor(action, 'c', given.c as Tensor, { dtype })
    // The caller's getters have run: one may take other rows of this stepper.
    const count = rows === undefined ? this.batch : this.#rows.take(action, rows)
    const shapes = this.#stateShapes(count)
    checkShape(action, 'h', h.shape, shapes.h)
    if (c && shapes.c) checkShape(action, 'c', c.shape, shapes.c)
    const numbers = rows === undefined ? null : this.#rows.numbers
    this.#kernel.moveState(h.data as FloatArray, (c?.data as FloatArray | undefined) ?? null, true, numbers, count)
  }

  dispose(): void {
    if (this.#life.end()) this.#entry.leave()
  }

  protected override summary(): Summary {
    const { cellMode } = this.#descriptor
    return { kind: 'Stream', cell: cellMode, batch: this.batch, state: this.#life.ended ? 'disposed' : 'live' }
  }

  /** Throws if the parameters were disposed after the stream was opened. */
  #checkParams(action: string): void {
    if (isBackendTensor(this.#params)) {
      if (this.#params.disposed) checkIsTensor(action, 'params', this.#params)
      this.#memory.elements(this.#params)
    } else if (liveLength(this.#params.data) !== this.#paramsSize) {
      checkIsTensor(action, 'params', this.#params)
    }
  }

  #stateShapes(rows: number): Pick<PassShapes, 'h' | 'c'> {
    return passShapes(this.#descriptor, { time: 1, batch: rows })
  }

  /** The check of the fast path: allocates nothing. */
  #fits(data: Tensor['data'], shape: readonly number[], rows: number, columns: number, steps: number): boolean {
    const rank = Array.isArray(shape) ? shape.length : 0
    return (
      (rank === 2 || rank === 3) &&
      shape[rank - 2] === rows &&
      shape[rank - 1] === columns &&
      Number.isSafeInteger(steps) &&
      arrayTypeOf(data) === this.#arrayType &&
      liveLength(data) === steps * rows * columns
    )
  }

  /** Throws the rule that a tensor breaks. */
  #refuse(name: string, tensor: Tensor, leading: readonly number[], rows: number, columns: number): never {
    const action = 'step a stream'
    checkTensor(action, name, tensor, { dtype: this.#memory.dtype, shape: [...leading, rows, columns] })
    throw codedTypeError(
      'ERR_NOT_A_TENSOR',
      `Cannot ${action} as ${name} must stay as it is while it is read: current value is ${describeValue(tensor)}`,
      { argument: name },
    )
  }
}

/**
 * Checks B, the number of sequences that a new stream steps together.
 *
 * @throws RangeError `ERR_INVALID_OPTION` for a batch that is not an integer >= 1
 */
export function checkStreamBatch(batch: number): void {
  if (Number.isSafeInteger(batch) && batch >= 1) return
  throw invalidOption('open a stream', 'batch', 'an integer >= 1', batch)
}
