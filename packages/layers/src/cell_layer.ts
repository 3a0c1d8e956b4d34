import { entryOf, integerFrom, type OptionsOf, optional, required } from '@cudnn-rnn/arguments'
import { type BackendTensor, DTYPES, type TensorLike } from '@cudnn-rnn/backend'
import { describeValue, elementCount } from '@cudnn-rnn/canonical'
import type { CellState, FloatTensor, RNNCell, StateSize, StateTree } from '@cudnn-rnn/cells'
import { dynamicRnn, scopedName, tensorRnn } from '@cudnn-rnn/cells'
import { checkTensor, type Operand, type Value } from '@cudnn-rnn/executor-kit'
import { Variable } from '@cudnn-rnn/models'
import { codedTypeError } from './coded_error.js'
import type { Forwarded } from './forwarded.js'
import { hostTensor } from './host_tensor.js'
import { type ConfigValue, Layer, type LayerDefinition, type LayerInfo, type Pass } from './layer.js'
import type { LayerBuild } from './layer_build.js'
import {
  checkInputRule,
  checkLayerOptions,
  invalidOption,
  LAYER_OPTIONS,
  type LayerOptions,
  SEQUENCE,
} from './layer_options.js'
import { checkStateList, type LayerStream } from './layer_stream.js'
import { positionOfStream } from './random_streams.js'
import { recordedForward } from './recorded_forward.js'
import { featuresOf } from './signal.js'
import { UnfinishedTensors } from './unfinished_tensors.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** I; needed where the layer is the first of a model. */
  inputSize: optional(integerFrom(1)),
}

/** Options of {@link rnn}. */
export interface RnnLayerOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * One of TensorFlow's cells over a sequence: [T,B,I] to [T,B,outputSize]. Variables: the cell's own under the names that
 * TensorFlow's `dynamic_rnn` gives them, `rnn/lstm_cell/kernel` in a layer of the default name.
 *
 * On executors in host memory the cell computes there, its products by the executor. On cuDNN the steps of the cells of
 * `@cudnn-rnn/cells` stay on the device; a cell of your own computes in host memory. Prefer {@link cudnnLSTM} and the other
 * models where they compute the same. The layer owns the cell. A saved model has the variables; `loadModel` is given the cell.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { LSTMBlockCell } from '@cudnn-rnn/rnn/cells'
 * import { rnn, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [rnn(new LSTMBlockCell(4, { usePeephole: true }), { inputSize: 3 })], { seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape, model.layers[0]?.variables.map(({ name }) => name)[0]) // [5, 2, 4] rnn/lstm_cell/kernel
 * ```
 */
export function rnn(cell: RNNCell<CellState>, options: RnnLayerOptions = {}): LayerDefinition {
  if (typeof cell?.step !== 'function' || typeof cell.build !== 'function') {
    throw codedTypeError(
      'ERR_NOT_A_LAYER',
      `Cannot make rnn as cell must be a cell such as new LSTMCell(8): current value is ${describeValue(cell)}`,
    )
  }
  checkLayerOptions('rnn', options, OPTIONS)
  const { inputSize } = options
  const definition: LayerDefinition = {
    kind: 'rnn',
    name: options.name,
    config: { cell: cell.constructor.name, outputSize: cell.outputSize, ...(inputSize !== undefined && { inputSize }) },
    ...(inputSize !== undefined && { input: { isSequence: true, features: inputSize } }),
    build(input, build) {
      checkInputRule(definition, input, SEQUENCE)
      const { backend } = build
      if (cell.dtype !== backend.dtype) {
        throw invalidOption('rnn', "the cell's dtype", `that of the executor, ${backend.dtype}`, cell.dtype)
      }
      const name = build.nameOf(options.name, 'rnn')
      const features = featuresOf(input)
      const seed = build.recurrentSeed()
      const specs = cell.variableSpecs(features)
      const elements = specs.reduce((sum, { shape }) => sum + elementCount(shape), 0)
      if (build.startsAtZero(name, elements) && cell.inputSize === undefined) {
        const { array } = DTYPES[backend.dtype]
        const zeros = specs.map((spec) => [spec.name, { data: new array(elementCount(spec.shape)), shape: spec.shape }])
        cell.setVariables(Object.fromEntries(zeros))
      }
      cell.build(features, { seed })
      using made = new UnfinishedTensors()
      const variables = made.finish(
        [...cell.variables].map(([own, value]) => {
          const tensor = made.add(backend.tensor(value))
          return new Variable(backend, tensor, scopedName(name, scopedName(cell.scope, own)))
        }),
      )
      const output = { isSequence: true, features: cell.outputSize }
      return new CellLayer(build, { definition, name, input, output, variables }, cell)
    },
  }
  return definition
}

class CellLayer extends Layer {
  readonly #cell: RNNCell<CellState>
  readonly #names: readonly string[]
  #stream = 0

  constructor({ backend }: LayerBuild, info: LayerInfo, cell: RNNCell<CellState>) {
    super(backend, info)
    this.#cell = cell
    this.#names = [...cell.variables.keys()]
  }

  override get stateCount(): number {
    return sizesOf(this.#cell.stateSize).length
  }

  override stateShapes(batch: number): readonly (readonly number[])[] {
    return leavesOf(this.#cell.zeroState(batch)).map(({ shape }) => shape)
  }

  async forward(
    input: TensorLike,
    { isTraining, lengths, keepsStates }: Pass,
    states: readonly TensorLike[] | null,
  ): Promise<Forwarded> {
    if (this.#runsOnTensors) return this.#forwardOnTensors(input, { isTraining, lengths, keepsStates }, states)
    const { backend } = this
    const initial = states && ((await Promise.all(states.map(hostTensor))) as FloatTensor[])
    const { outputs, state, tape } = await this.#run(input, initial, isTraining, lengths?.data ?? null)
    using made = new UnfinishedTensors()
    const output = made.add(backend.tensor(outputs))
    const backward = async (dy: BackendTensor) => {
      const gradients = required(tape, 'only a training pass has a backward, and it has a tape').gradients({
        outputs: (await hostTensor(dy)) as FloatTensor,
      })
      using made = new UnfinishedTensors()
      const variables = this.#names.map((name) => made.add(backend.tensor(entryOf(gradients.variables, name))))
      return made.finish({ input: backend.tensor(gradients.inputs), variables })
    }
    const release = () => tape?.dispose()
    const final = keepsStates && { states: leavesOf(state).map((leaf) => made.add(backend.tensor(leaf))) }
    return made.finish({ output, backward, release, ...final })
  }

  /** Whether the executor has neither kernels for cells nor its tensors in host memory, and the cell can do without them. */
  get #runsOnTensors(): boolean {
    return this.backend.products === undefined && this.#cell.runsOnTensors
  }

  #forwardOnTensors(
    input: TensorLike,
    { isTraining, lengths, keepsStates }: Pass,
    states: readonly TensorLike[] | null,
  ): Promise<Forwarded> {
    const { backend, variables } = this
    const cell = this.#cell
    return recordedForward(backend, variables, input, isTraining, (t, x) => {
      const named = new Map(this.#names.map((name, index) => [name, variables[index]]))
      const before = states && stateOf<Operand>(cell.stateSize, states)
      const { output, state } = tensorRnn(t, cell, named, x, { state: before, lengths: lengths?.data ?? null })
      if (!keepsStates) return { output }
      // Copies in training: the gradients read the values themselves.
      const own = (value: Value) => (isTraining ? t.reshape(t.stopGradient(value), value.shape) : value)
      return { output, states: leavesOf<Value>(state).map(own) }
    })
  }

  #streamOnTensors(batch: number): LayerStream {
    const { backend } = this
    let state: BackendTensor[] = this.stateShapes(batch).map((shape) => backend.zeros(shape))
    const replace = (next: readonly BackendTensor[]) => {
      for (const tensor of state) tensor.dispose()
      state = [...next]
    }
    return {
      step: async (input) => {
        const pass = { isTraining: false, lengths: null, keepsStates: true }
        const { output, states = [], release } = await this.#forwardOnTensors(input, pass, state)
        release?.()
        replace(states)
        return output
      },
      reset: (rows) => {
        const reset = new Set(rows ?? Array(batch).keys())
        replace(
          state.map((tensor) => {
            const columns = tensor.shape[1]
            const kept = new DTYPES[backend.dtype].array(batch * columns)
            for (let row = 0; row < batch; row++) {
              if (!reset.has(row)) kept.fill(1, row * columns, (row + 1) * columns)
            }
            return backend.ops.multiply(tensor, { data: kept, shape: tensor.shape })
          }),
        )
      },
      state: () => Promise.all(state.map(hostTensor)),
      restore: (saved) => replace(this.#checkedState(saved, batch).map((tensor) => backend.tensor(tensor))),
      dispose: () => replace([]),
    }
  }

  override async randomState(): Promise<ConfigValue> {
    const state = this.#cell.randomState()
    return state.length === 0 ? null : state
  }

  override restoreRandomState(state: ConfigValue): void {
    this.#cell.restoreRandomState((state ?? []) as readonly number[])
  }

  override useRandomStream(stream: number): void {
    if (stream === this.#stream) return
    this.#stream = stream
    this.#cell.restoreRandomState(this.#cell.randomState().map(() => positionOfStream(stream)))
  }

  override openStream(batch: number): LayerStream {
    if (this.#runsOnTensors) return this.#streamOnTensors(batch)
    const zero = () => leavesOf(this.#cell.zeroState(batch))
    let state = zero()
    return {
      step: async (input) => {
        const result = await this.#run(input, state, false, null)
        state = leavesOf(result.state)
        return result.outputs
      },
      reset: (rows) => {
        for (const [index, fresh] of zero().entries()) {
          const columns = fresh.shape[1]
          for (const row of rows ?? Array(batch).keys()) state[index].data.fill(0, row * columns, (row + 1) * columns)
        }
      },
      state: async () => state.map(({ data, shape }) => ({ data: data.slice(), shape })),
      restore: (saved) => {
        state = this.#checkedState(saved, batch).map(({ data, shape }) => ({ data: data.slice(), shape }))
      },
      dispose() {},
    }
  }

  /** A saved state of a stream of B rows. Throws RangeError `ERR_LAYER_STATES`, `ERR_SHAPE`; TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`. */
  #checkedState(saved: unknown, batch: number): FloatTensor[] {
    const action = `restore the state of ${this.name}`
    const shapes = this.stateShapes(batch)
    const states = checkStateList(action, saved, shapes.length)
    const { dtype } = this.backend
    return shapes.map((shape, index) => {
      return checkTensor(action, `state[${index}]`, states[index] as FloatTensor, { dtype, shape }) as FloatTensor
    })
  }

  async #run(
    input: TensorLike,
    initial: readonly FloatTensor[] | null,
    training: boolean,
    sequenceLength: Int32Array | null,
  ) {
    const cell = this.#cell
    const values = (await Promise.all(this.variables.map(({ value }) => hostTensor(value)))) as FloatTensor[]
    cell.setVariables(Object.fromEntries(this.#names.map((name, index) => [name, values[index]])))
    const x = (await hostTensor(input)) as FloatTensor
    const initialState = initial === null ? undefined : stateOf(cell.stateSize, initial)
    const { backend } = this
    return dynamicRnn(cell, x, { timeMajor: true, training, sequenceLength, initialState, backend })
  }
}

/** The numbers of columns of a state's tensors, in their order. */
function sizesOf(size: StateSize): number[] {
  if (typeof size === 'number') return [size]
  return Array.isArray(size) ? size.flatMap(sizesOf) : Object.values(size as { c: number; h: number })
}

/** The leaves of a state, in the order of {@link sizesOf}. */
function leavesOf<Leaf extends { readonly shape: readonly number[] }>(state: StateTree<Leaf>): Leaf[] {
  if (Array.isArray(state)) return state.flatMap(leavesOf<Leaf>)
  return 'shape' in state ? [state as Leaf] : Object.values(state as { c: Leaf; h: Leaf })
}

/** The state that has these leaves. */
function stateOf<Leaf>(size: StateSize, leaves: readonly Leaf[]): StateTree<Leaf> {
  const rest = leaves.values()
  const next = (): Leaf => required(rest.next().value, 'the leaves of a state are as many as its sizes')
  const build = (part: StateSize): StateTree<Leaf> => {
    if (typeof part === 'number') return next()
    if (Array.isArray(part)) return part.map(build)
    return { c: next(), h: next() }
  }
  return build(size)
}
