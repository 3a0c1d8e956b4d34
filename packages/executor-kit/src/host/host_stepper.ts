import type { RnnStepper, RnnStreamState } from '@cudnn-rnn/backend'
import { type BackendTensor, DTYPES, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import {
  codedRangeError,
  elementCount,
  type FloatArray,
  hiddenColumns,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { Lifetime } from '../lifetime.js'
import { type PassShapes, passShapes } from '../pass_shapes.js'
import { checkIsTensor, checkTensor } from '../tensor_arguments.js'
import type { HostMemory } from './host_memory.js'

/** A stream as its executor computes it, on the calling thread. Arguments were checked. */
export interface StreamKernel {
  /** Advances by `steps` time steps: input [T,B,I] to output [T,B,P or H]. Called often: allocates nothing. */
  step(input: FloatArray, output: FloatArray, steps: number): void
  /** Zeroes the state of one batch row. */
  resetRow(row: number): void
  /** Copies the state to `h` [L,B,P or H] and `c` [L,B,H] (null but for LSTM), or with `restoring` from them. */
  moveState(h: FloatArray, c: FloatArray | null, restoring: boolean): void
}

/**
 * Checks what a stream is asked for, before its kernel is made.
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
  if (!Number.isSafeInteger(batch) || batch < 1) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot open a stream as batch must be an integer >= 1: current value is ${batch}`,
      { option: 'batch', value: batch },
    )
  }
}

/** Throws RangeError `ERR_STREAM_ROW` unless every row that is to be reset is in 0..batch-1. */
export function checkStreamRows(batch: number, rows: readonly number[]): void {
  for (const row of rows) {
    if (Number.isInteger(row) && row >= 0 && row < batch) continue
    throw codedRangeError(
      'ERR_STREAM_ROW',
      `Cannot reset a stream as rows must be in 0..${batch - 1}: current value is ${row}`,
      { row },
    )
  }
}

/** The network that a stream runs, and what of. */
export interface StreamOwner {
  readonly memory: HostMemory
  /** Of the network. */
  readonly life: Lifetime
  readonly descriptor: RnnDescriptor
  readonly params: TensorLike
}

/** Inference of a unidirectional network one time step at a time. */
export class HostStepper implements RnnStepper {
  readonly batch: number
  readonly #memory: HostMemory
  readonly #life: Lifetime
  readonly #networkLife: Lifetime
  readonly #params: BackendTensor | undefined
  readonly #descriptor: RnnDescriptor
  readonly #kernel: StreamKernel
  readonly #arrayType: unknown

  /** The arguments have passed {@link checkStream}. */
  constructor({ memory, life, descriptor, params }: StreamOwner, batch: number, kernel: StreamKernel) {
    this.batch = batch
    this.#memory = memory
    this.#life = new Lifetime('stepper', memory.life)
    this.#networkLife = life
    this.#params = isBackendTensor(params) ? params : undefined
    this.#descriptor = descriptor
    this.#kernel = kernel
    this.#arrayType = DTYPES[memory.dtype].array
    memory.ledger.add('steppers')
  }

  stepSync(input: Tensor, out?: Tensor): Tensor {
    const action = 'step a stream'
    this.#life.check(action)
    this.#networkLife.check(action)
    const { inputSize } = this.#descriptor
    const columns = hiddenColumns(this.#descriptor)
    const steps = input.shape.length === 3 ? input.shape[0]! : 1
    if (!this.#fits(input, inputSize, steps)) this.#refuse('input', input, input, inputSize)
    if (out !== undefined && !(this.#fits(out, columns, steps) && out.shape.length === input.shape.length)) {
      this.#refuse('out', out, input, columns)
    }
    if (this.#params?.disposed) checkIsTensor(action, 'params', this.#params)
    const result = out ?? {
      data: this.#memory.allocate(steps * this.batch * columns),
      shape: [...input.shape.slice(0, -1), columns],
    }
    this.#kernel.step(input.data as FloatArray, result.data as FloatArray, steps)
    return result
  }

  /** Throws RangeError `ERR_STREAM_ROW`. */
  reset(rows?: readonly number[]): void {
    this.#life.check('reset a stream')
    if (rows !== undefined) checkStreamRows(this.batch, rows)
    if (rows !== undefined) for (const row of rows) this.#kernel.resetRow(row)
    else for (let row = 0; row < this.batch; row++) this.#kernel.resetRow(row)
  }

  state(): RnnStreamState {
    this.#life.check('read the state of a stream')
    const zeros = (shape: readonly number[]) => ({ data: this.#memory.allocate(elementCount(shape)), shape })
    const shapes = this.#stateShapes()
    const h = zeros(shapes.h)
    const c = shapes.c && zeros(shapes.c)
    this.#kernel.moveState(h.data, c?.data ?? null, false)
    return { h, c }
  }

  restore({ h, c }: RnnStreamState): void {
    const action = 'restore the state of a stream'
    this.#life.check(action)
    const { dtype } = this.#memory
    const shapes = this.#stateShapes()
    checkTensor(action, 'h', h, { dtype, shape: shapes.h })
    if (shapes.c !== undefined) checkTensor(action, 'c', c as Tensor, { dtype, shape: shapes.c })
    this.#kernel.moveState(h.data as FloatArray, shapes.c === undefined ? null : (c!.data as FloatArray), true)
  }

  dispose(): void {
    if (this.#life.end()) this.#memory.ledger.remove('steppers')
  }

  #stateShapes(): Pick<PassShapes, 'h' | 'c'> {
    return passShapes(this.#descriptor, { time: 1, batch: this.batch })
  }

  /** The check of the fast path: allocates nothing. */
  #fits({ data, shape }: Tensor, columns: number, steps: number): boolean {
    const rank = shape.length
    return (
      (rank === 2 || rank === 3) &&
      shape[rank - 2] === this.batch &&
      shape[rank - 1] === columns &&
      data.constructor === this.#arrayType &&
      data.length === steps * this.batch * columns
    )
  }

  /** Throws what is wrong with a tensor that does not fit. */
  #refuse(name: string, tensor: Tensor, input: Tensor, columns: number): never {
    const shape = [...(input.shape.length === 3 ? [input.shape[0]] : []), this.batch, columns]
    checkTensor('step a stream', name, tensor, { dtype: this.#memory.dtype, shape })
    throw new Error(`unreachable: ${name} was refused and then accepted`)
  }
}
