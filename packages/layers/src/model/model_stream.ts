import { describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { checkOptions, integerFrom, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { checkStreamRows, checkTensor } from '@cudnn-rnn/ops/executor'
import { codedRangeError } from '../coded_error.js'
import type { LayerStream } from '../layer_stream.js'
import type { WholeModel } from './whole_model.js'

const OPTIONS = {
  /** B, independent streams stepped together. Default 1. */
  batch: optional(integerFrom(1)),
}

/** Options of `stream`. */
export interface ModelStreamOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * Streams of a whole model, stepped as one batch; the states are carried inside, and begin at zero.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { cudnnGRU, dense, type ModelStream, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [cudnnGRU({ numUnits: 4, inputSize: 3 }), dense({ units: 2 })], { seed: 1 })
 * const stream: ModelStream = model.stream({ batch: 2 })
 * const frame = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const state = await stream.state()
 * const first = await stream.step(frame)
 * stream.restore(state)
 * const again = await stream.step(frame)
 * console.log(first.shape, first.data[0] === again.data[0]) // [2, 2] true
 * ```
 */
export class ModelStream {
  readonly batch: number
  readonly #model: WholeModel
  readonly #stream: LayerStream
  /** The step before: steps run in the order of the calls. */
  #previous: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #isDisposed = false

  constructor(model: WholeModel, options: ModelStreamOptions) {
    checkOptions('open a stream', options, OPTIONS)
    const { batch = 1 } = options
    this.batch = batch
    this.#model = model
    this.#stream = model.openStream(batch)
  }

  /**
   * One step [B,I] → [B,O], or T steps [T,B,I] → [T,B,O]; class ids lack the last dimension. A new host tensor.
   *
   * @throws RangeError `ERR_SHAPE`, `ERR_STREAM_DISPOSED`; TypeError `ERR_DTYPE`
   */
  async step(input: TensorLike): Promise<Tensor<FloatArray>> {
    const action = 'step a stream'
    this.#checkAlive(action)
    const { features } = this.#model.input
    const dtype = features === null ? 'int32' : this.#model.executor.dtype
    const given = checkTensor(action, 'input', input, { dtype })
    const vector = features === null ? [this.batch] : [this.batch, features]
    const isSingle = given.shape.length === vector.length
    checkTensor(action, 'input', given, { dtype, shape: isSingle ? vector : ['T', ...vector] })
    // A host input is copied, as the caller may reuse its memory before the steps queued earlier are done.
    const kept = isBackendTensor(given) ? await given.read() : { data: given.data.slice(), shape: given.shape }
    this.#waiting++
    const result = this.#previous.then(() => this.#step(kept as Tensor, isSingle)).finally(() => this.#waiting--)
    this.#previous = result.catch(() => undefined)
    return result
  }

  /** Zeroes the states of all streams, or of the batch rows named. Throws RangeError `ERR_STREAM_BUSY`, `ERR_STREAM_ROW`; nothing is zeroed then. */
  reset(rows?: readonly number[]): void {
    this.#checkIdle('reset a stream')
    this.#stream.reset(rows === undefined ? undefined : checkStreamRows(this.batch, rows))
  }

  /** The carried states, for {@link restore}. */
  async state(): Promise<unknown> {
    await this.#previous
    this.#checkAlive('read the state of a stream')
    return this.#stream.state()
  }

  /** Continues from the result of {@link state}. Throws RangeError `ERR_STREAM_BUSY`, `ERR_LAYER_STATES`. */
  restore(state: unknown): void {
    this.#checkIdle('restore the state of a stream')
    if (!Array.isArray(state)) {
      throw codedRangeError(
        'ERR_LAYER_STATES',
        `Cannot restore the state of a stream as it must be what state() returned: current value is ${describeValue(state)}`,
      )
    }
    this.#stream.restore(state)
  }

  dispose(): void {
    if (!this.#isDisposed) this.#stream.dispose()
    this.#isDisposed = true
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  async #step(input: Tensor, isSingle: boolean): Promise<Tensor<FloatArray>> {
    // A model without a time axis takes [B,I] and gives [B,O] itself.
    const isLifted = isSingle && this.#model.input.isSequence
    const x = isLifted ? { data: input.data, shape: [1, ...input.shape] } : input
    const y = await this.#stream.step(x)
    const { data, shape } = isBackendTensor(y) ? await y.read() : y
    const own = { data: data.slice() as FloatArray, shape: isLifted ? shape.slice(1) : shape }
    if (isBackendTensor(y)) y.dispose()
    return own
  }

  #checkIdle(action: string): void {
    this.#checkAlive(action)
    if (this.#waiting === 0) return
    throw codedRangeError('ERR_STREAM_BUSY', `Cannot ${action} as a step is still running: await step() first.`)
  }

  #checkAlive(action: string): void {
    if (this.#isDisposed) throw codedRangeError('ERR_STREAM_DISPOSED', `Cannot ${action} as it was disposed`)
  }
}
