import {
  type Backend,
  DTYPES,
  isBackendTensor,
  type Rnn,
  type RnnStreamState,
  type RowNumbers,
  type TensorLike,
} from '@cudnn-rnn/backend'
import {
  codedRangeError,
  elementCount,
  type FloatArray,
  hiddenColumns,
  Inspectable,
  layoutKey,
  type Summary,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { checkIsTensor, checkStreamRows, checkTensor, passShapes, StreamRows } from '@cudnn-rnn/executor-kit'
import { gatherRows, scatterRows } from './state_rows.js'
import type { Stream } from './stream.js'
import { checkIsState, streamBusy } from './stream_state.js'

/** Streams on an executor that has no stepper: the state is read back after every step and given to the next. */
export class ForwardStream extends Inspectable implements Stream {
  readonly batch: number
  readonly #backend: Backend
  readonly #rnn: Rnn
  readonly #params: TensorLike
  readonly #rows: StreamRows
  #h: Tensor
  #c: Tensor | undefined
  /** The step before: steps run in the order of the calls, however they are awaited. */
  #previous: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #disposed = false

  /** Throws the errors of `Rnn.forward` for these parameters. */
  constructor(backend: Backend, rnn: Rnn, params: TensorLike, batch: number) {
    super()
    const rule = { dtype: backend.dtype, shape: [rnn.paramsSize], layout: layoutKey(rnn.descriptor) }
    this.#params = checkTensor('open a stream', 'params', params, rule)
    this.#backend = backend
    this.#rnn = rnn
    this.batch = batch
    this.#rows = new StreamRows(batch)
    const { h, c } = passShapes(rnn.descriptor, { time: 1, batch })
    this.#h = this.#zeros(h)
    this.#c = c && this.#zeros(c)
  }

  async step(input: TensorLike): Promise<Tensor> {
    const given = checkIsTensor('step a stream', 'input', input)
    // A host input is copied, as the caller may reuse its memory before the steps queued earlier are done.
    const kept = isBackendTensor(given) ? given : { data: given.data.slice(), shape: given.shape }
    return this.#inOrder(() => this.#step(kept))
  }

  async stepRows(rows: RowNumbers, input: TensorLike): Promise<Tensor> {
    const action = 'step a stream'
    const numbers = this.#rows.copyOf(action, rows)
    const given = checkIsTensor(action, 'input', input)
    const kept = isBackendTensor(given) ? given : { data: given.data.slice(), shape: given.shape }
    return this.#inOrder(() => this.#stepRows(numbers, kept))
  }

  stepSync(): Tensor {
    throw this.#noSyncStep('step()')
  }

  stepRowsSync(): Tensor {
    throw this.#noSyncStep('stepRows()')
  }

  reset(rows?: RowNumbers): void {
    const numbers = rows === undefined ? undefined : checkStreamRows(this.batch, rows)
    this.#checkAlive('reset a stream')
    if (this.#waiting > 0) throw streamBusy('reset a stream')
    for (const state of [this.#h, this.#c]) {
      if (state === undefined) continue
      const [layers = 0, batch = 0, columns = 0] = state.shape
      for (let layer = 0; layer < layers; layer++) {
        for (const row of numbers ?? Array.from({ length: batch }, (_, index) => index)) {
          const begin = (layer * batch + row) * columns
          state.data.fill(0, begin, begin + columns)
        }
      }
    }
  }

  async state(rows?: RowNumbers): Promise<RnnStreamState> {
    const action = 'read the state of a stream'
    const numbers = rows === undefined ? undefined : this.#rows.copyOf(action, rows)
    if (this.#waiting > 0) await this.#previous
    this.#checkAlive(action)
    const copy = (states: Tensor) => (numbers === undefined ? copied(states) : gatherRows(states, numbers))
    return { h: copy(this.#h), c: this.#c && copy(this.#c) }
  }

  restore(state: RnnStreamState, rows?: RowNumbers): void {
    const action = 'restore the state of a stream'
    checkIsState(state)
    this.#checkAlive(action)
    if (this.#waiting > 0) throw streamBusy(action)
    const numbers = rows === undefined ? undefined : this.#rows.copyOf(action, rows)
    const { dtype } = this.#backend
    const count = numbers?.length ?? this.batch
    const shapeOf = ({ shape: [layers = 0, , columns = 0] }: Tensor) => [layers, count, columns]
    const h = checkTensor(action, 'h', state.h, { dtype, shape: shapeOf(this.#h) })
    const c = this.#c && checkTensor(action, 'c', state.c as Tensor, { dtype, shape: shapeOf(this.#c) })
    if (numbers === undefined) {
      this.#h = copied(h)
      this.#c = c && copied(c)
    } else {
      scatterRows(this.#h, numbers, h)
      if (this.#c && c) scatterRows(this.#c, numbers, c)
    }
  }

  dispose(): void {
    this.#disposed = true
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected override summary(): Summary {
    return { kind: 'Stream', batch: this.batch, waiting: this.#waiting, state: this.#disposed ? 'disposed' : 'live' }
  }

  /** Runs a step after the ones called before it. */
  #inOrder(run: () => Promise<Tensor>): Promise<Tensor> {
    this.#waiting++
    const result = this.#previous.then(run).finally(() => this.#waiting--)
    this.#previous = result.catch(() => undefined)
    return result
  }

  #noSyncStep(instead: string) {
    const { name } = this.#backend
    return codedRangeError(
      'ERR_NO_SYNC_STEP',
      `Cannot step a stream synchronously as the ${name} executor computes elsewhere: use ${instead}.`,
      { backend: name },
    )
  }

  async #step(given: TensorLike): Promise<Tensor> {
    this.#checkAlive('step a stream')
    const input = isBackendTensor(given) ? await given.read() : given
    const single = input.shape.length === 2
    if (input.shape.length === 3 && input.shape[0] === 0) return this.#noSteps(input)
    const whole = single ? { data: input.data, shape: [1, ...input.shape] } : input
    const { y, h, c } = await this.#forward(whole, this.#h, this.#c)
    this.#h = h
    this.#c = c
    return single ? { data: y.data, shape: y.shape.slice(1) } : y
  }

  async #stepRows(rows: Int32Array, given: TensorLike): Promise<Tensor> {
    const action = 'step a stream'
    this.#checkAlive(action)
    const input = isBackendTensor(given) ? await given.read() : given
    const { inputSize } = this.#rnn.descriptor
    const columns = hiddenColumns(this.#rnn.descriptor)
    checkTensor(action, 'input', input, { dtype: this.#backend.dtype, shape: [rows.length, inputSize] })
    if (rows.length === 0) return { data: input.data.slice(), shape: [0, columns] }
    // Executors prepare themselves for every number of rows: powers of two are few.
    const count = 2 ** Math.ceil(Math.log2(rows.length))
    const padded = input.data.slice()
    const whole = count === rows.length ? padded : this.#zeros([1, count, inputSize]).data
    if (whole !== padded) whole.set(padded)
    const gathered = { h: gatherRows(this.#h, rows, count), c: this.#c && gatherRows(this.#c, rows, count) }
    const { y, h, c } = await this.#forward({ data: whole, shape: [1, count, inputSize] }, gathered.h, gathered.c)
    scatterRows(this.#h, rows, h)
    if (this.#c && c) scatterRows(this.#c, rows, c)
    return { data: y.data.slice(0, rows.length * columns), shape: [rows.length, columns] }
  }

  /** One inference from the states given; host copies of its results. */
  async #forward(input: Tensor, inputH: Tensor, inputC: Tensor | undefined) {
    const { output, outputH, outputC } = await this.#rnn.forward({
      ...{ input, inputH, inputC: inputC ?? null, params: this.#params },
      ...{ sequenceLengths: null, training: false },
    })
    try {
      const [y, h, c] = await Promise.all([output.read(), outputH.read(), outputC?.read()])
      return { y: copied(y), h: copied(h), c: c && copied(c) }
    } finally {
      for (const tensor of [output, outputH, outputC]) tensor?.dispose()
    }
  }

  /** Steppers take an input [0,B,I]; `Rnn.forward` does not. */
  #noSteps(input: Tensor): Tensor {
    const { descriptor } = this.#rnn
    const shape = [0, this.batch, descriptor.inputSize]
    checkTensor('step a stream', 'input', input, { dtype: this.#backend.dtype, shape })
    return { data: new DTYPES[this.#backend.dtype].array(0), shape: [0, this.batch, hiddenColumns(descriptor)] }
  }

  #zeros(shape: readonly number[]): Tensor {
    const { array } = DTYPES[this.#backend.dtype]
    return { data: new array(elementCount(shape)) as FloatArray, shape }
  }

  #checkAlive(action: string): void {
    if (!this.#disposed) return
    throw codedRangeError('ERR_STREAM_DISPOSED', `Cannot ${action} as it was disposed`)
  }
}

function copied({ data, shape }: Tensor): Tensor {
  return { data: data.slice(), shape }
}
