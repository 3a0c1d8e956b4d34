import { describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  checkOptions,
  codedRangeError,
  inTurn,
  integerFrom,
  optional,
  type OptionsOf,
  refuseOtherMethods,
} from '@cudnn-rnn/canonical/rules'
import { type RowNetwork, type StreamPool, streamPoolOf, type StreamPoolOptions } from '@cudnn-rnn/models'
import { isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { checkStreamRows, checkTensor, type Frame, frameTensor } from '@cudnn-rnn/ops/executor'
import { hostTensor } from '../forwarded.js'
import type { Layer } from '../layer.js'
import { featuresOf } from '../signal.js'
import type { GraphStream, PlanInput } from './model_graph.js'
import { checkNamed, isNamedModel, type NamedInputs } from './model_inputs.js'
import type { WholeModel } from './whole_model.js'

const OPTIONS = {
  /** B, independent streams stepped together. Default 1. */
  batch: optional(integerFrom(1)),
}

export interface ModelStreamOptions extends OptionsOf<typeof OPTIONS> {}

interface Given {
  readonly name: string
  readonly shape: readonly number[]
  /** On the host. */
  readonly x: Tensor | Promise<Tensor>
  /** How many, where it is not a single step. */
  readonly steps: number | undefined
  readonly isSequence: boolean
}

/** Calls to write for the methods of the streams of one network. */
const OTHER_METHODS = {
  'await stream.step(frame): streams of one network, lstm.stream(params), have NAME()': 'stepSync stepRowsSync',
}

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
  readonly #stream: GraphStream
  /** The step before: steps run in the order of the calls. */
  #previous: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #isDisposed = false

  constructor(model: WholeModel, options: ModelStreamOptions) {
    const { batch = 1 } = checkOptions('open a stream', options, OPTIONS)
    this.batch = batch
    this.#model = model
    this.#stream = model.graph.openStream(batch)
    refuseOtherMethods(ModelStream.prototype, 'a stream of a whole model', OTHER_METHODS)
  }

  /**
   * One step [B,I] → [B,O], or T steps [T,B,I] → [T,B,O]; class ids lack the last dimension. The numbers of one step may come without
   * their shape: `stream.step([3])`. A new host tensor. Of a model of several
   * inputs or outputs both have names; an input without a time axis is [B,I], the same for all steps.
   *
   * @throws RangeError `ERR_SHAPE`, `ERR_STREAM_DISPOSED`, `ERR_MODEL_INPUTS`; TypeError `ERR_DTYPE`
   */
  async step(input: Frame): Promise<Tensor<FloatArray>>
  async step(inputs: NamedInputs): Promise<Record<string, Tensor<FloatArray>>>
  async step(input: Frame | NamedInputs): Promise<Tensor<FloatArray> | Record<string, Tensor<FloatArray>>> {
    const action = 'step a stream'
    this.#checkAlive(action)
    const { graph } = this.#model
    const isNamed = isNamedModel(graph)
    const named = isNamed ? checkNamed<TensorLike>(action, 'inputs', graph.inputs, input) : undefined
    const given = graph.inputs.map((each) => {
      const [name, frame] = named === undefined ? ['input', input as Frame] : [each.name, named[each.name]]
      return this.#given(action, name, frame, each)
    })
    this.#checkTogether(action, given)
    this.#waiting++
    const read = Promise.all([this.#previous, ...given.map(({ x }) => x)])
    const result = read.then(([, ...xs]) => this.#step(xs as Tensor[], given)).finally(() => this.#waiting--)
    this.#previous = result.catch(() => undefined)
    const outputs = await inTurn(result)
    if (!isNamed) return outputs[0]
    return Object.fromEntries(graph.outputs.map(({ name }, k) => [name, outputs[k]]))
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
    this.#stream.restore(this.#stream.checkedState(state))
  }

  dispose(): void {
    if (!this.#isDisposed) this.#stream.dispose()
    this.#isDisposed = true
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  #given(action: string, name: string, frame: Frame, { signal }: PlanInput): Given {
    const { features, isSequence } = signal
    const dtype = features === null ? 'int32' : this.#model.executor.dtype
    const vector = features === null ? [this.batch] : [this.batch, features]
    const given = checkTensor(action, name, frameTensor(frame, vector, dtype), { dtype })
    const isSingle = given.shape.length === vector.length
    checkTensor(action, name, given, { dtype, shape: isSingle ? vector : ['T', ...vector] })
    // A host input is copied, as the caller may reuse its memory before the steps queued earlier are done.
    const x = isBackendTensor(given) ? given.read() : { data: given.data.slice(), shape: given.shape }
    return {
      name,
      shape: given.shape,
      x: x as Tensor | Promise<Tensor>,
      steps: isSingle ? undefined : given.shape[0],
      isSequence,
    }
  }

  /** Inputs of a model of several: sequences have as many steps, and a vector is the same at each. */
  #checkTogether(action: string, given: readonly Given[]): void {
    const [steps] = given.flatMap((each) => each.steps ?? [])
    const wrong =
      given.length === 1 ? undefined : given.find((each) => each.steps !== (each.isSequence ? steps : undefined))
    if (wrong === undefined) return
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${action} as all sequences must be one step, or as many steps, and a vector [B,…]: current shapes are ${given.map(({ shape }) => `[${shape}]`).join(', ')}`,
      { name: wrong.name, actual: wrong.shape },
    )
  }

  async #step(xs: readonly Tensor[], given: readonly Given[]): Promise<Tensor<FloatArray>[]> {
    const [steps] = given.flatMap((each) => each.steps ?? [])
    // A model without a time axis takes [B,I] and gives [B,O] itself.
    const isLifted = steps === undefined && given.some(({ isSequence }) => isSequence)
    const inputs = xs.map((x, k) => (given[k].steps === steps && !isLifted ? x : repeated(x, steps ?? 1)))
    const outputs = await this.#stream.step(inputs)
    const read: Tensor<FloatArray>[] = []
    for (const y of outputs) {
      const { data, shape } = isBackendTensor(y) ? await y.read() : y
      read.push({ data: data.slice() as FloatArray, shape: isLifted ? shape.slice(1) : shape })
    }
    for (const y of new Set(outputs)) if (isBackendTensor(y)) y.dispose()
    return read
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

function repeated({ data, shape }: Tensor, steps: number): Tensor {
  if (steps === 1) return { data, shape: [1, ...shape] }
  const all = new (data.constructor as Float32ArrayConstructor)(steps * data.length)
  for (let step = 0; step < steps; step++) all.set(data as Float32Array, step * data.length)
  return { data: all, shape: [steps, ...shape] }
}

/** The numbers of class ids that the embeddings take which a layer is, or has as its parts. */
function sizesOfTables({ input, parts, variables }: Layer): readonly number[] {
  if (parts.length > 0) return parts.flatMap(sizesOfTables)
  return input.features === null ? variables.map(({ value }) => value.shape[0] as number) : []
}

/** Opens a pool of streams of a model of one input and one output: the rows of one stream. Throws as `LayersModel.streamPool`. */
export function openModelStreamPool({ graph, executor }: WholeModel, options: StreamPoolOptions): StreamPool<unknown> {
  const action = 'step a stream'
  const [{ signal: input }] = graph.inputs
  const isIds = input.features === null
  const count = isIds ? Math.min(...graph.layers.flatMap(sizesOfTables)) : 0
  let rows: GraphStream
  const network: RowNetwork<unknown> = {
    dtype: executor.dtype,
    inputSize: input.features ?? 1,
    outputSize: featuresOf(graph.outputs[0].signal),
    checkFrames(frames) {
      const wrong = isIds ? frames.find((id) => !(Number.isInteger(id) && id >= 0 && id < count)) : undefined
      if (wrong === undefined) return
      throw codedRangeError(
        'ERR_ID_OUT_OF_RANGE',
        `Cannot ${action} as class ids must be integers in 0..${count - 1}: current value is ${describeValue(wrong)}`,
        { value: wrong },
      )
    },
    async step(numbers, frames, output) {
      const shape = [...(input.isSequence ? [1] : []), numbers.length]
      const x = isIds
        ? { data: Int32Array.from(frames), shape }
        : { data: frames.slice() as FloatArray, shape: [...shape, frames.length / numbers.length] }
      const [y] = await rows.step([x], numbers)
      try {
        output.set((await hostTensor(y)).data)
      } finally {
        if (isBackendTensor(y)) y.dispose()
      }
    },
    reset: (row) => rows.reset([row]),
    state: (row) => rows.state([row]),
    checkedState: (state) => rows.checkedState(state, 1),
    restore: (row, state) => rows.restore(state, [row]),
    dispose: () => rows.dispose(),
  }
  const pool = streamPoolOf(network, options)
  rows = graph.openStream(pool.stats().maxStreams)
  return pool
}
