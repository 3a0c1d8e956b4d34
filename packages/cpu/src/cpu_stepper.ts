import {
  checkIsTensor,
  checkTensor,
  isBackendTensor,
  type RnnStepper,
  type RnnStreamState,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { codedRangeError, type FloatArray, hiddenColumns, type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import type { CpuMemory } from './cpu_memory.js'
import type { CpuTensor } from './cpu_tensor.js'
import type { NarrowParamsCache } from './narrow_params.js'
import type { NativeNetwork, NativeStepper } from './native_addon.js'

/** Inference of a unidirectional network one time step at a time, on the calling thread with the pool's help. */
export class CpuStepper implements RnnStepper {
  readonly batch: number
  readonly #memory: CpuMemory
  readonly #descriptor: RnnDescriptor
  readonly #stepper: NativeStepper
  readonly #narrow: NarrowParamsCache
  readonly #params: FloatArray
  /** The tensor of the parameters: queued work may be about to write it. */
  readonly #variable: CpuTensor | undefined
  readonly #arrayType: unknown
  readonly #checkNetwork: (action: string) => void
  #disposed = false

  /**
   * Throws RangeError `ERR_BIDIRECTIONAL_STREAM`, `ERR_INVALID_OPTION` for a batch that is not an integer ≥ 1.
   *
   * @param checkNetwork throws where the network cannot be used any more.
   */
  constructor(
    memory: CpuMemory,
    descriptor: RnnDescriptor,
    network: NativeNetwork,
    narrow: NarrowParamsCache,
    params: TensorLike,
    batch: number,
    checkNetwork: (action: string) => void,
  ) {
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
    this.batch = batch
    this.#checkNetwork = checkNetwork
    this.#narrow = narrow
    this.#memory = memory
    this.#descriptor = descriptor
    this.#variable = isBackendTensor(params) ? memory.own('open a stream', 'params', params) : undefined
    this.#params = (isBackendTensor(params) ? this.#variable!.data : params.data) as FloatArray
    this.#arrayType = this.#params.constructor
    this.#stepper = new memory.addon.NativeStepper(memory.executor, network, batch, memory.weightFormat === 'int8')
    memory.ledger.add('steppers')
  }

  stepSync(input: Tensor, out?: Tensor): Tensor {
    const action = 'step a stream'
    this.#checkAlive(action)
    this.#checkNetwork(action)
    const descriptor = this.#descriptor
    const columns = hiddenColumns(descriptor)
    const steps = input.shape.length === 3 ? input.shape[0]! : 1
    if (!this.#fits(input, descriptor.inputSize, steps)) this.#refuse('input', input, input, descriptor.inputSize)
    if (out !== undefined && !(this.#fits(out, columns, steps) && out.shape.length === input.shape.length)) {
      this.#refuse('out', out, input, columns)
    }
    if (this.#variable?.disposed) checkIsTensor(action, 'params', this.#variable)
    const result = out ?? {
      data: this.#memory.allocate(steps * this.batch * columns),
      shape: [...input.shape.slice(0, -1), columns],
    }
    const narrow = this.#narrow.of(this.#variable, this.#params)
    const job = narrow?.job ?? this.#variable?.job ?? 0
    if (job > 0) this.#memory.executor.wait(job)
    const { data } = input
    this.#stepper.step(this.#params, data as FloatArray, result.data as FloatArray, steps, narrow?.weights ?? null)
    return result
  }

  reset(rows?: readonly number[]): void {
    this.#checkAlive('reset a stream')
    for (const row of rows ?? []) {
      if (Number.isInteger(row) && row >= 0 && row < this.batch) continue
      throw codedRangeError(
        'ERR_STREAM_ROW',
        `Cannot reset a stream as rows must be in 0..${this.batch - 1}: current value is ${row}`,
        { row },
      )
    }
    if (rows !== undefined) for (const row of rows) this.#stepper.resetRow(row)
    else for (let row = 0; row < this.batch; row++) this.#stepper.resetRow(row)
  }

  state(): RnnStreamState {
    this.#checkAlive('read the state of a stream')
    const zeros = (columns: number): Tensor<FloatArray> => {
      const shape = [this.#descriptor.numLayers, this.batch, columns]
      return { data: this.#memory.allocate(shape[0]! * this.batch * columns), shape }
    }
    const h = zeros(hiddenColumns(this.#descriptor))
    const c = this.#descriptor.cellMode === 'lstm' ? zeros(this.#descriptor.numUnits) : undefined
    this.#stepper.moveState(h.data, c?.data ?? null, false)
    return { h, c }
  }

  restore(state: RnnStreamState): void {
    const action = 'restore the state of a stream'
    this.#checkAlive(action)
    const { dtype } = this.#memory
    const shape = (columns: number) => [this.#descriptor.numLayers, this.batch, columns]
    const isLstm = this.#descriptor.cellMode === 'lstm'
    checkTensor(action, 'h', state.h, { dtype, shape: shape(hiddenColumns(this.#descriptor)) })
    if (isLstm) checkTensor(action, 'c', state.c as Tensor, { dtype, shape: shape(this.#descriptor.numUnits) })
    this.#stepper.moveState(state.h.data as FloatArray, isLstm ? (state.c?.data as FloatArray) : null, true)
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#memory.ledger.remove('steppers')
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

  #checkAlive(action: string): void {
    if (this.#disposed) throw codedRangeError('ERR_STREAM_DISPOSED', `Cannot ${action} as it was disposed`)
    this.#memory.checkAlive(action)
  }
}
