import { entryOf, required } from '@cudnn-rnn/arguments'
import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import { type CellActivation, elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { executorActivation } from './activation.js'
import { CellRun } from './cell_run.js'
import type { CellState, StateTree } from './cell_state.js'
import { codedRangeError } from './coded_error.js'
import { newArray } from './float_tensor.js'
import type { LSTMRule } from './lstm_rule.js'
import { kernelsOf } from './product_backend.js'
import type { RNNCell } from './rnn_cell.js'
import { type GraphStep, StepGraph, type TimeGateNames, withEquations } from './step_graph.js'
import { TensorValue } from './tensor_value.js'
import { joinScopes } from './variable_scopes.js'

/** The values and backwards of a whole sequence, which the graphs of its steps and of inner cells share. */
interface Recording {
  readonly backend: Backend
  /** By name, in matrices: leading dimensions of a kernel are one. */
  readonly variables: ReadonlyMap<string, TensorValue>
  readonly backwards: (() => void)[]
  readonly constants: Map<string, BackendTensor>
  /** Tensors that the recording disposes, with the gradients that their values still have. */
  readonly owned: Map<BackendTensor, TensorValue>
}

/**
 * The operations of a sequence's steps on the tensors of an executor: nothing is read back, so on cuDNN a step of training stays
 * one command list. Made of the executor's dense operations.
 */
export class TensorGraph extends StepGraph<TensorValue> {
  readonly run: CellRun
  readonly #recording: Recording
  readonly #scope: string

  private constructor(run: CellRun, recording: Recording, scope: string) {
    super()
    this.run = run
    this.#recording = recording
    this.#scope = scope
  }

  /** @param variables of the cell, which stay the caller's. */
  static open(backend: Backend, variables: ReadonlyMap<string, TensorLike>, training: boolean): TensorGraph {
    const matrices = new Map<string, TensorValue>()
    const recording: Recording = {
      backend,
      variables: matrices,
      backwards: [],
      constants: new Map(),
      owned: new Map(),
    }
    const run = new CellRun(backend.dtype, training, kernelsOf('run a cell', undefined, backend.dtype))
    const graph = new TensorGraph(run, recording, '')
    try {
      for (const [name, variable] of variables) {
        const columns = variable.shape[variable.shape.length - 1]
        const shape = variable.shape.length <= 2 ? variable.shape : [elementCount(variable.shape) / columns, columns]
        matrices.set(name, graph.#value(backend.ops.reshape(variable, shape)))
      }
      return graph
    } catch (error) {
      graph.dispose()
      throw error
    }
  }

  get #ops() {
    return this.#recording.backend.ops
  }

  /** A tensor of the caller as an operand. */
  input(tensor: TensorLike): TensorValue {
    return this.#value(this.#ops.reshape(tensor, tensor.shape))
  }

  /** A tensor of the caller as an operand that has no gradient. */
  constant(tensor: TensorLike): TensorValue {
    return this.#value(this.#ops.reshape(tensor, tensor.shape), true)
  }

  zeros(shape: readonly number[]): TensorValue {
    return this.#value(this.#recording.backend.zeros(shape), true)
  }

  /** Rows of 1 where `isOne`, of 0 elsewhere. */
  rowMask(isOne: (row: number) => boolean, rows: number, columns: number): TensorValue {
    const mask = newArray(this.run.dtype, rows * columns)
    for (let row = 0; row < rows; row++) if (isOne(row)) mask.fill(1, row * columns, (row + 1) * columns)
    return this.#constant(mask, [rows, columns])
  }

  /** The sequence [T,B,E] with zeros past each row's length. */
  withoutPadding(x: TensorValue, lengths: Int32Array | null): TensorValue {
    if (lengths === null) return x
    const counts = { data: lengths, shape: [lengths.length] }
    // The reverse of the reverse: both leave zeros past the length.
    const masked = (sequence: BackendTensor) => {
      using reversed = this.#ops.reverseSequence(sequence, counts)
      return this.#ops.reverseSequence(reversed, counts)
    }
    return this.#result(masked(x.tensor), (dy) => x.give(this.#ops, masked(dy)))
  }

  linear(operands: readonly TensorValue[], kernelName: string, biasName?: string): TensorValue {
    const x = operands.length === 1 ? operands[0] : this.concat(operands)
    return this.#product(x, this.#variable(kernelName), biasName === undefined ? undefined : this.#variable(biasName))
  }

  addBias(x: TensorValue, biasName: string): TensorValue {
    return this.add(x, this.#inEveryRow(biasName, x))
  }

  scaled(x: TensorValue, vectorName: string): TensorValue {
    return this.multiply(x, this.#inEveryRow(vectorName, x))
  }

  activate(x: TensorValue, activation: CellActivation, shift = 0, bound = Number.POSITIVE_INFINITY): TensorValue {
    const known = required(executorActivation(activation), 'a cell runs on tensors if executors have its activations')
    const { operation, maximum, scale = 1 } = known
    const bounded = this.clip(this.#shifted(x, shift), bound, 'zero_outside')
    const scaled = scale === 1 ? bounded : this.masked(bounded, newArray(this.run.dtype, 1).fill(scale))
    const argument = this.#shifted(scaled, known.shift ?? 0)
    if (operation === undefined) return argument
    return this.#result(this.#ops.activate(argument.tensor, operation, { maximum }), (dy, y) => {
      argument.give(this.#ops, this.#ops.activationGradient(y, dy, operation, { maximum }))
    })
  }

  #shifted(x: TensorValue, shift: number): TensorValue {
    return shift === 0 ? x : this.add(x, this.#value(this.#filled(shift, x.shape), true))
  }

  clip(x: TensorValue, bound: number, gradient: LSTMRule['clipGradient']): TensorValue {
    if (bound === Number.POSITIVE_INFINITY) return x
    // min(max(x, 0), bound) - min(max(-x, 0), bound)
    using negative = this.#negative(x.tensor)
    using below = this.#ops.activate(negative, 'relu', { maximum: bound })
    const clipped = this.#accumulated(this.#ops.activate(x.tensor, 'relu', { maximum: bound }), below, -1)
    return this.#result(clipped, (dy, y) => {
      if (gradient === 'straight_through') {
        x.addGradient(this.#ops, dy)
        return
      }
      // 0 < y + bound < 2·bound where the bound does not hold: both limits are exact.
      using shifted = this.#sum(y, this.#filled(bound, x.shape), 1)
      x.give(this.#ops, this.#ops.activationGradient(shifted, dy, 'relu', { maximum: 2 * bound }))
    })
  }

  add(a: TensorValue, b: TensorValue): TensorValue {
    return this.#result(this.#sum(a.tensor, b.tensor, 1), (dy) => {
      a.addGradient(this.#ops, dy)
      b.addGradient(this.#ops, dy)
    })
  }

  multiply(a: TensorValue, b: TensorValue): TensorValue {
    return this.#result(this.#ops.multiply(a.tensor, b.tensor), (dy) => {
      if (!a.isConstant) a.give(this.#ops, this.#ops.multiply(dy, b.tensor))
      if (!b.isConstant) b.give(this.#ops, this.#ops.multiply(dy, a.tensor))
    })
  }

  mix(g: TensorValue, a: TensorValue, b: TensorValue): TensorValue {
    // b + g∘(a - b)
    const difference = this.#result(this.#sum(a.tensor, b.tensor, -1), (dy) => {
      a.addGradient(this.#ops, dy)
      b.give(this.#ops, this.#negative(dy))
    })
    return this.add(this.multiply(g, difference), b)
  }

  masked(x: TensorValue, mask: FloatArray): TensorValue {
    const whole = newArray(this.run.dtype, x.size)
    for (let begin = 0; begin < whole.length; begin += mask.length) whole.set(mask, begin)
    return this.multiply(x, this.#constant(whole, x.shape))
  }

  takeColumns(x: TensorValue, begin: number, count: number): TensorValue {
    const rest = x.columns - begin - count
    const leading = x.shape.slice(0, -1)
    return this.#result(this.#ops.columns(x.tensor, begin, count), (dy) => {
      const before = begin === 0 ? [] : [this.#filled(0, [...leading, begin])]
      const after = rest === 0 ? [] : [this.#filled(0, [...leading, rest])]
      x.give(this.#ops, this.#ops.concat([...before, dy, ...after]))
    })
  }

  split(x: TensorValue, parts: number): TensorValue[] {
    const count = x.columns / parts
    const blocks = Array.from({ length: parts }, (_, part) => {
      return this.#value(this.#ops.columns(x.tensor, part * count, count))
    })
    this.#record(() => {
      if (blocks.every(({ gradient }) => gradient === undefined)) return
      const zeros = this.#filled(0, [...x.shape.slice(0, -1), count])
      x.give(this.#ops, this.#ops.concat(blocks.map(({ gradient }) => gradient ?? zeros)))
      for (const block of blocks) block.takeGradient()?.dispose()
    })
    return blocks
  }

  concat(values: readonly TensorValue[]): TensorValue {
    return this.#result(this.#ops.concat(values.map(({ tensor }) => tensor)), (dy) => {
      let begin = 0
      for (const value of values) {
        if (!value.isConstant) value.give(this.#ops, this.#ops.columns(dy, begin, value.columns))
        begin += value.columns
      }
    })
  }

  reshaped(x: TensorValue, shape: readonly number[]): TensorValue {
    return this.#result(this.#ops.reshape(x.tensor, shape), (dy) => x.give(this.#ops, this.#ops.reshape(dy, x.shape)))
  }

  layerNorm(x: TensorValue, gammaName: string, betaName: string, epsilon: number): TensorValue {
    const [gamma, beta] = [this.#variable(gammaName), this.#variable(betaName)]
    const y = this.#ops.layerNorm(x.tensor, gamma.tensor, beta.tensor, { epsilon })
    return this.#result(y, (dy) => {
      const gradients = this.#ops.layerNormGradients(x.tensor, gamma.tensor, dy, { epsilon })
      this.#give([x, gradients.input], [gamma, gradients.gamma], [beta, gradients.beta])
    })
  }

  patches(x: TensorValue, positions: number, sources: Int32Array): TensorValue {
    const { rows, columns } = x
    const taps = sources.length / positions
    const batch = rows / positions
    // Row `rows` of the table is the padding.
    const places = Int32Array.from({ length: batch * sources.length }, (_, k) => {
      const source = sources[k % sources.length]
      return source < 0 ? rows : Math.floor(k / sources.length) * positions + source
    })
    const padding = this.#value(this.#filled(0, [1, columns]), true)
    const joined = this.concat([this.reshaped(x, [1, rows * columns]), padding])
    const under = this.gathered(this.reshaped(joined, [rows + 1, columns]), places, [rows, taps])
    return this.reshaped(under, [rows, taps * columns])
  }

  timeGate(time: TensorValue, names: TimeGateNames, leak: number, trainsRatio: boolean): TensorValue {
    const [period, phase, ratioOn] = [names.period, names.phase, names.ratioOn].map((name) => this.#variable(name))
    const variables = { period: period.tensor, phase: phase.tensor, ratioOn: ratioOn.tensor }
    const { phasedGate, phasedGateGradients } = this.#ops
    if (phasedGate === undefined || phasedGateGradients === undefined) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot run a PhasedLSTMCell on tensors as the executor must have the operation phasedGate: current executor is ${this.#recording.backend.name}`,
        { option: 'backend', value: this.#recording.backend.name },
      )
    }
    return this.#result(phasedGate(time.tensor, variables, { leak }), (dy) => {
      const gradients = phasedGateGradients(time.tensor, variables, dy, { leak })
      this.#give(
        [time, gradients.times],
        [period, gradients.period],
        [phase, gradients.phase],
        [trainsRatio ? ratioOn : undefined, gradients.ratioOn],
      )
    })
  }

  additiveAttention(memory: TensorValue, keys: TensorValue, query: TensorValue, vectorName: string): TensorValue {
    const batch = query.rows
    const slots = memory.rows / batch
    const ofRow = Int32Array.from({ length: batch * slots }, (_, k) => Math.floor(k / slots))
    const hidden = this.tanh(this.add(keys, this.gathered(query, ofRow, [batch * slots])))
    const vector = this.#variable(vectorName)
    const column = this.reshaped(vector, [vector.size, 1])
    const scores = this.#product(hidden, column)
    // [B·L] to [L,B]
    const bySlot = Int32Array.from({ length: slots * batch }, (_, k) => (k % batch) * slots + Math.floor(k / batch))
    const shape = [slots, batch]
    return this.#attended(this.gathered(memory, bySlot, shape), this.gathered(scores, bySlot, shape))
  }

  innerStep(
    cell: RNNCell<CellState>,
    scope: string,
    input: TensorValue,
    state: StateTree<TensorValue>,
  ): GraphStep<TensorValue> {
    const inner = new TensorGraph(this.run, this.#recording, joinScopes(this.#scope, scope))
    return withEquations(cell).equations(inner, input, state)
  }

  /** Rows of x [V,E] by their numbers: [...shape, E]. */
  gathered(x: TensorValue, rows: Int32Array, shape: readonly number[]): TensorValue {
    const ids = { data: rows, shape }
    return this.#result(this.#ops.embedding(x.tensor, ids), (dy) => {
      x.give(this.#ops, this.#ops.embeddingGradient(x.rows, ids, dy))
    })
  }

  /** Disposes the values made so far except those that are kept, and drops their backwards: for inference. */
  releaseAllBut(kept: readonly TensorValue[]): void {
    const { owned, variables, constants } = this.#recording
    const staying = new Set([...kept, ...variables.values()].map(({ tensor }) => tensor))
    for (const tensor of constants.values()) staying.add(tensor)
    for (const tensor of owned.keys()) {
      if (staying.has(tensor)) continue
      tensor.dispose()
      owned.delete(tensor)
    }
  }

  /** Passes the gradients of the results on; called at most once. */
  backward(): void {
    const { backwards } = this.#recording
    for (let index = backwards.length - 1; index >= 0; index--) backwards[index]()
    backwards.length = 0
  }

  /** The gradient of a variable in a shape; zeros where no operation reads it. The caller's. */
  variableGradient(name: string, shape: readonly number[]): BackendTensor {
    using gradient = this.#variable(name).takeGradient() ?? this.#recording.backend.zeros(shape)
    return this.#ops.reshape(gradient, shape)
  }

  /** The tensor of a value becomes the caller's. */
  taken({ tensor }: TensorValue): BackendTensor {
    this.#recording.owned.delete(tensor)
    return tensor
  }

  /** After a failed operation too, whose operands may have gradients that nothing took. */
  dispose(): void {
    for (const [tensor, value] of this.#recording.owned) {
      value.takeGradient()?.dispose()
      tensor.dispose()
    }
    this.#recording.owned.clear()
  }

  #variable(name: string): TensorValue {
    const whole = joinScopes(this.#scope, name)
    return entryOf(this.#recording.variables, whole)
  }

  /** The vector of that name as the rows of a tensor like x. */
  #inEveryRow(name: string, x: TensorValue): TensorValue {
    const vector = this.#variable(name)
    return this.gathered(this.reshaped(vector, [1, vector.size]), new Int32Array(x.rows), x.shape.slice(0, -1))
  }

  #product(x: TensorValue, kernel: TensorValue, bias?: TensorValue): TensorValue {
    const added = bias?.tensor ?? this.#filled(0, [kernel.columns])
    return this.#result(this.#ops.linear(x.tensor, kernel.tensor, added), (dz) => {
      const gradients = this.#ops.linearGradients(x.tensor, kernel.tensor, dz)
      this.#give([x, gradients.input], [kernel, gradients.kernel], [bias, gradients.bias])
    })
  }

  #attended(memory: TensorValue, scores: TensorValue): TensorValue {
    const { output, weights } = this.#ops.attend(memory.tensor, scores.tensor, null)
    const kept = this.#value(weights)
    return this.#result(output, (dy) => {
      const gradients = this.#ops.attendGradients(memory.tensor, kept.tensor, dy)
      this.#give([memory, gradients.input], [scores, gradients.scores])
    })
  }

  /** a + scale·b */
  #sum(a: BackendTensor, b: BackendTensor, scale: number): BackendTensor {
    return this.#accumulated(this.#ops.reshape(a, a.shape), b, scale)
  }

  #negative(x: BackendTensor): BackendTensor {
    return this.#accumulated(this.#recording.backend.zeros(x.shape), x, -1)
  }

  /** `sum` after scale·b was added to it; disposed if that fails. */
  #accumulated(sum: BackendTensor, b: BackendTensor, scale: number): BackendTensor {
    try {
      this.#ops.accumulate(sum, b, scale)
      return sum
    } catch (error) {
      sum.dispose()
      throw error
    }
  }

  /** Gives each value its gradient; one for no value is disposed, and so are the rest if one fails. */
  #give(...pairs: readonly (readonly [TensorValue | undefined, BackendTensor])[]): void {
    const waiting = new Set(pairs.map(([, gradient]) => gradient))
    try {
      for (const [value, gradient] of pairs) {
        if (value === undefined) continue
        waiting.delete(gradient)
        value.give(this.#ops, gradient)
      }
    } finally {
      for (const gradient of waiting) gradient.dispose()
    }
  }

  /** A tensor of one number, made once. */
  #filled(value: number, shape: readonly number[]): BackendTensor {
    const { constants, backend } = this.#recording
    const key = `${value} [${shape.join(',')}]`
    const known = constants.get(key)
    if (known !== undefined) return known
    const made =
      value === 0
        ? backend.zeros(shape)
        : backend.tensor({ data: newArray(backend.dtype, elementCount(shape)).fill(value), shape })
    constants.set(key, made)
    return this.#value(made).tensor
  }

  #constant(data: FloatArray, shape: readonly number[]): TensorValue {
    return this.#value(this.#recording.backend.tensor({ data, shape }), true)
  }

  #value(tensor: BackendTensor, isConstant = false): TensorValue {
    const value = new TensorValue(tensor, isConstant)
    this.#recording.owned.set(tensor, value)
    return value
  }

  /** The result of an operation, and the backward that passes its gradient on where it has one. */
  #result(tensor: BackendTensor, backward: (gradient: BackendTensor, result: BackendTensor) => void): TensorValue {
    const value = this.#value(tensor)
    this.#record(() => {
      using gradient = value.takeGradient()
      if (gradient !== undefined) backward(gradient, tensor)
    })
    return value
  }

  #record(backward: () => void): void {
    if (this.run.training) this.#recording.backwards.push(backward)
  }
}
