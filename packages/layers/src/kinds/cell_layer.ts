import { describeValue, elementCount } from '@cudnn-rnn/canonical'
import {
  codedTypeError,
  entryOf,
  hasMember,
  integerFrom,
  invalidOption,
  type OptionsOf,
  optional,
  required,
} from '@cudnn-rnn/canonical/rules'
import type { CellState, FloatTensor, RNNCell, StateSize, StateTree } from '@cudnn-rnn/cells'
import { dynamicRnn, scopedName, tensorRnn } from '@cudnn-rnn/cells'
import { Variable } from '@cudnn-rnn/models'
import { type Backend, type BackendTensor, DTYPES, type TensorLike } from '@cudnn-rnn/ops'
import { type GradientTape, isValue, type Operand, type Value } from '@cudnn-rnn/ops/executor'
import { type Forwarded, hostTensor, type LayerInput } from '../forwarded.js'
import { type ConfigValue, Layer, type LayerDefinition, type LayerInfo, type Pass } from '../layer.js'
import type { LayerBuild } from '../layer_build.js'
import { checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { hostStream, type LayerStream } from '../layer_stream.js'
import { featuresOf, type Signal } from '../signal.js'
import { positionOfStream } from '../training/random_streams.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** I; needed where the layer is the first of a model. */
  inputSize: optional(integerFrom(1)),
}

interface RnnLayerOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

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
  const given = checkLayerOptions('rnn', options, OPTIONS)
  const { inputSize } = given
  const definition: LayerDefinition = {
    kind: 'rnn',
    name: given.name,
    config: { cell: cell.constructor.name, outputSize: cell.outputSize, ...(inputSize !== undefined && { inputSize }) },
    states: sizesOf(cell.stateSize).length,
    ...(inputSize !== undefined && { input: { isSequence: true, features: inputSize } }),
    build(input, build) {
      const { dtype } = build.backend
      if (cell.dtype !== dtype)
        throw invalidOption('make rnn', "the cell's dtype", `that of the executor, ${dtype}`, cell.dtype)
      return builtCell(definition, cell, input, build)
    },
  }
  return definition
}

export function builtCell(
  definition: LayerDefinition,
  cell: RNNCell<CellState>,
  input: Signal,
  build: LayerBuild,
): CellLayer {
  checkInputRule(definition, input, SEQUENCE)
  const { backend } = build
  const name = build.nameOf(definition.name, definition.kind)
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
  const names = [...cell.variables.keys()]
  const variables = uploaded(backend, [...cell.variables.values()]).map((tensor, k) => {
    return new Variable(backend, tensor, scopedName(name, scopedName(cell.scope, names[k])))
  })
  const output = { isSequence: true, features: cell.outputSize }
  return new CellLayer(build, { definition, name, input, output, variables }, cell)
}

interface CellPass extends Pick<Pass, 'lengths' | 'keepsStates'> {
  readonly isTraining: boolean
}

interface CellRun {
  /** The output, and the final states where the pass keeps them. */
  readonly results: readonly BackendTensor[]
  /** The gradients of the input and the variables. */
  readonly backward: (dy: BackendTensor) => readonly BackendTensor[] | Promise<readonly BackendTensor[]>
  readonly dispose: () => void
}

/** Host tensors on the executor; if one cannot be made, the others are disposed. */
function uploaded(backend: Backend, tensors: readonly FloatTensor[]): readonly BackendTensor[] {
  const made: BackendTensor[] = []
  try {
    for (const tensor of tensors) made.push(backend.tensor(tensor))
    return made
  } catch (error) {
    for (const tensor of made) tensor.dispose()
    throw error
  }
}

export class CellLayer extends Layer {
  readonly cell: RNNCell<CellState>
  readonly #names: readonly string[]
  #stream = 0

  constructor({ backend }: LayerBuild, info: LayerInfo, cell: RNNCell<CellState>) {
    super(backend, info)
    this.cell = cell
    this.#names = [...cell.variables.keys()]
  }

  /** True for every copy of the package. */
  static override [Symbol.hasInstance](value: unknown): value is CellLayer {
    return hasMember(value, 'cell') && hasMember(value, 'stateShapes')
  }

  override get stateCount(): number {
    return sizesOf(this.cell.stateSize).length
  }

  override stateShapes(batch: number): readonly (readonly number[])[] {
    return leavesOf(this.cell.zeroState(batch)).map(({ shape }) => shape)
  }

  async forward(t: GradientTape, x: LayerInput, pass: Pass): Promise<Forwarded> {
    // Only operations of the tape pass gradients to states.
    if (this.#runsOnTensors || (pass.isLinked === true && t.isTraining)) return this.#forwardOnTensors(t, x, pass)
    const { lengths, states, keepsStates } = pass
    const { recording, isTraining, made } = t
    const input = isValue(x) ? x : undefined
    const operands = [input, ...this.variables.map((variable) => t.value(variable))]
    const inputs = input?.tensor ?? (x as TensorLike)
    const initial = states?.map((state) => (isValue(state) ? state.tensor : state)) ?? null
    const run = await this.#runOnHost(inputs, initial, { isTraining, lengths, keepsStates })
    const [output, ...final] = run.results.map((tensor, k) => recording.newValue(tensor, isTraining && k === 0, made))
    if (!isTraining) run.dispose()
    else {
      recording.add({
        ...{ name: `layer ${this.name}`, operands, results: [output], held: [], dispose: () => run.dispose() },
        operandName: (k) => (k === 0 ? 'the input' : this.variables[k - 1].name),
        async pass([dy]) {
          const gradients = await run.backward(dy as BackendTensor)
          for (const gradient of gradients) recording.own(gradient)
          return { gradients, made: gradients }
        },
      })
    }
    return { output, ...(keepsStates && { states: final }) }
  }

  /** Whether the executor has neither kernels for cells nor its tensors in host memory, and the cell can do without them. */
  get #runsOnTensors(): boolean {
    return this.backend.products === undefined && this.cell.runsOnTensors
  }

  async #runOnHost(input: TensorLike, states: readonly TensorLike[] | null, pass: CellPass): Promise<CellRun> {
    const initial = states && ((await Promise.all(states.map(hostTensor))) as FloatTensor[])
    const { outputs, state, tape } = await this.#run(input, initial, pass.isTraining, pass.lengths)
    return {
      results: uploaded(this.backend, [outputs, ...(pass.keepsStates ? leavesOf(state) : [])]),
      backward: async (dy) => {
        const given = (await hostTensor(dy)) as FloatTensor
        const { inputs, variables } = required(tape, 'a training pass has a tape').gradients({ outputs: given })
        return uploaded(this.backend, [inputs, ...this.#names.map((name) => entryOf(variables, name))])
      },
      dispose: () => tape?.dispose(),
    }
  }

  #forwardOnTensors(t: GradientTape, x: LayerInput, { lengths, states, keepsStates, isLinked }: Pass): Forwarded {
    const cell = this.cell
    const named = new Map(this.#names.map((name, index) => [name, this.variables[index]]))
    const before = states && stateOf<Operand>(cell.stateSize, states)
    const { output, state } = tensorRnn(t, cell, named, x, { state: before, lengths })
    if (!keepsStates) return { output }
    // Copies in training: the gradients read the values themselves.
    const own = (value: Value) =>
      t.isTraining && isLinked !== true ? t.reshape(t.stopGradient(value), value.shape) : value
    return { output, states: leavesOf<Value>(state).map(own) }
  }

  override async randomState(): Promise<ConfigValue> {
    const state = this.cell.randomState()
    return state.length === 0 ? null : state
  }

  override restoreRandomState(state: ConfigValue): void {
    this.cell.restoreRandomState((state ?? []) as readonly number[])
  }

  override useRandomStream(stream: number): void {
    if (stream === this.#stream) return
    this.#stream = stream
    this.cell.restoreRandomState(this.cell.randomState().map(() => positionOfStream(stream)))
  }

  override openStream(batch: number): LayerStream {
    const form = { name: this.name, dtype: this.backend.dtype, shapes: this.stateShapes(batch) }
    return hostStream(form, async (input, states) => {
      if (!this.#runsOnTensors) {
        const result = await this.#run(input, states, false, null)
        return [result.outputs, leavesOf(result.state)]
      }
      const [output, ...next] = await this.results(input, { lengths: null, states, keepsStates: true, isStream: true })
      try {
        return [output, (await Promise.all(next.map(hostTensor))) as FloatTensor[]]
      } catch (error) {
        output.dispose()
        throw error
      } finally {
        for (const tensor of next) tensor.dispose()
      }
    })
  }

  async #run(
    input: TensorLike,
    initial: readonly FloatTensor[] | null,
    training: boolean,
    sequenceLength: Int32Array | null,
  ) {
    const cell = this.cell
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

/** The states of a layer in the order of models and of other formats, and back: LSTM cells have c before h. */
export function networkOrder<State>({ kind, config }: LayerDefinition, states: readonly State[]): readonly State[] {
  const isCell = kind === 'rnn' && String(config['cell']).includes('LSTM')
  return isCell ? states.map((state, k) => states[k ^ 1] ?? state) : states
}
