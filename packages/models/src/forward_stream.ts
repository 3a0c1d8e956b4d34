import {
  type Backend,
  DTYPES,
  isBackendTensor,
  type Rnn,
  type RnnStreamState,
  type TensorLike,
} from '@cudnn-rnn/backend'
import {
  codedRangeError,
  elementCount,
  type FloatArray,
  hiddenColumns,
  Inspectable,
  layoutKey,
  numPseudoLayers,
  type Summary,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { checkIsTensor, checkStreamRows, checkTensor } from '@cudnn-rnn/executor-kit'
import type { Stream } from './stream.js'
import { checkIsRows, checkIsState, streamBusy } from './stream_state.js'

/** Streams on an executor that has no stepper: the state is read back after every step and given to the next. */
export class ForwardStream extends Inspectable implements Stream {
  readonly batch: number
  readonly #backend: Backend
  readonly #rnn: Rnn
  readonly #params: TensorLike
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
    this.#h = this.#zeros(hiddenColumns(rnn.descriptor))
    this.#c = rnn.descriptor.cellMode === 'lstm' ? this.#zeros(rnn.descriptor.numUnits) : undefined
  }

  async step(input: TensorLike): Promise<Tensor> {
    const given = checkIsTensor('step a stream', 'input', input)
    // A host input is copied, as the caller may reuse its memory before the steps queued earlier are done.
    const kept = isBackendTensor(given) ? given : { data: given.data.slice(), shape: given.shape }
    this.#waiting++
    const result = this.#previous.then(() => this.#step(kept)).finally(() => this.#waiting--)
    this.#previous = result.catch(() => undefined)
    return result
  }

  stepSync(): Tensor {
    throw codedRangeError(
      'ERR_NO_SYNC_STEP',
      `Cannot step a stream synchronously as the ${this.#backend.name} executor computes elsewhere: use step().`,
      { backend: this.#backend.name },
    )
  }

  reset(rows?: readonly number[]): void {
    checkIsRows(rows)
    this.#checkAlive('reset a stream')
    if (this.#waiting > 0) throw streamBusy('reset a stream')
    if (rows !== undefined) checkStreamRows(this.batch, rows)
    for (const state of [this.#h, this.#c]) {
      if (state === undefined) continue
      const [layers = 0, batch = 0, columns = 0] = state.shape
      for (let layer = 0; layer < layers; layer++) {
        for (const row of rows ?? Array.from({ length: batch }, (_, index) => index)) {
          const begin = (layer * batch + row) * columns
          state.data.fill(0, begin, begin + columns)
        }
      }
    }
  }

  async state(): Promise<RnnStreamState> {
    await this.#previous
    this.#checkAlive('read the state of a stream')
    return { h: copied(this.#h), c: this.#c && copied(this.#c) }
  }

  restore(state: RnnStreamState): void {
    const action = 'restore the state of a stream'
    checkIsState(state)
    this.#checkAlive(action)
    if (this.#waiting > 0) throw streamBusy(action)
    const dtype = this.#backend.dtype
    const h = checkTensor(action, 'h', state.h, { dtype, shape: this.#h.shape })
    const c = this.#c && checkTensor(action, 'c', state.c as Tensor, { dtype, shape: this.#c.shape })
    this.#h = copied(h)
    this.#c = c && copied(c)
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

  async #step(given: TensorLike): Promise<Tensor> {
    this.#checkAlive('step a stream')
    const input = isBackendTensor(given) ? await given.read() : given
    const single = input.shape.length === 2
    if (input.shape.length === 3 && input.shape[0] === 0) return this.#noSteps(input)
    const { output, outputH, outputC } = await this.#rnn.forward({
      input: single ? { data: input.data, shape: [1, ...input.shape] } : input,
      inputH: this.#h,
      inputC: this.#c ?? null,
      params: this.#params,
      sequenceLengths: null,
      training: false,
    })
    try {
      const [y, h, c] = await Promise.all([output.read(), outputH.read(), outputC?.read()])
      this.#h = copied(h)
      this.#c = c && copied(c)
      return { data: y.data.slice(), shape: single ? y.shape.slice(1) : y.shape }
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

  #zeros(columns: number): Tensor {
    const shape = [numPseudoLayers(this.#rnn.descriptor), this.batch, columns]
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
