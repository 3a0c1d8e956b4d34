import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { CellRun } from './cell_run.js'
import { type CellState, mapState, type StateTree } from './cell_state.js'
import type { VariableMap } from './cell_variables.js'
import { type FloatTensor, newArray } from './float_tensor.js'
import type { GraphValue } from './step_graph.js'

/**
 * A tensor of one step: its elements, and the gradient of the loss with respect to them once a later operation has
 * added to it.
 */
export class HostValue implements GraphValue {
  readonly data: FloatArray
  readonly shape: readonly number[]
  #gradient: FloatArray | undefined

  constructor(data: FloatArray, shape: readonly number[]) {
    this.data = data
    this.shape = shape
  }

  get columns(): number {
    return this.shape[this.shape.length - 1]
  }

  get rows(): number {
    return this.data.length / this.columns
  }

  /** The gradient so far, to which operations add in their backward; zeros at first. */
  get gradient(): FloatArray {
    this.#gradient ??=
      this.data instanceof Float64Array ? new Float64Array(this.data.length) : new Float32Array(this.data.length)
    return this.#gradient
  }

  /** False if no later operation has a gradient for this value: then its own operation has none to pass on. */
  get hasGradient(): boolean {
    return this.#gradient !== undefined
  }
}

/**
 * The operations of one step in host memory, each with its backward, in their order. Reverse accumulation: Griewank & Walther, "Evaluating Derivatives", chapter 3.
 */
export class StepTape {
  readonly run: CellRun
  readonly #variables: VariableMap
  readonly #backwards: ((gradients: VariableMap) => void)[] = []

  constructor(run: CellRun, variables: VariableMap) {
    this.run = run
    this.#variables = variables
  }

  /** A zeroed array in the cell's dtype. */
  newArray(length: number): FloatArray {
    return newArray(this.run.dtype, length)
  }

  /** A copy of a tensor as an operand, so that the caller may overwrite it. */
  input({ data, shape }: FloatTensor): HostValue {
    return new HostValue(data.slice(), shape)
  }

  /** The cell's variable of that name. */
  variable(name: string): FloatTensor {
    return entryOf(this.#variables, name)
  }

  /**
   * The result of an operation.
   *
   * @param backward adds to the gradients of the operands and of the variables, given the result's gradient; not called
   *   if the result has none.
   */
  result(
    data: FloatArray,
    shape: readonly number[],
    backward: (gradient: FloatArray, variables: VariableMap) => void,
  ): HostValue {
    const value = new HostValue(data, shape)
    this.record((variables) => {
      if (value.hasGradient) backward(value.gradient, variables)
    })
    return value
  }

  /** Runs `backward` in the backward, after all later operations' functions. */
  record(backward: (variables: VariableMap) => void): void {
    if (this.run.training) this.#backwards.push(backward)
  }

  /** Passes the gradients of the results on to the operands and variables; called at most once. */
  backward(variables: VariableMap): void {
    for (let index = this.#backwards.length - 1; index >= 0; index--) this.#backwards[index](variables)
  }
}

/** The values as tensors of a state, in separate arrays. */
export function stateOf(values: StateTree<HostValue>): CellState {
  return mapState<HostValue, FloatTensor>([values], ([value]) => ({ data: value.data.slice(), shape: value.shape }))
}

/** Adds a tensor to the gradient of a value. */
export function addGradient(value: HostValue, { data }: FloatTensor): void {
  const target = value.gradient
  for (let k = 0; k < target.length; k++) target[k] += data[k]
}

/** The gradients of the values of a state. */
export function stateGradients(values: StateTree<HostValue>): CellState {
  return mapState<HostValue, FloatTensor>([values], ([value]) => ({ data: value.gradient, shape: value.shape }))
}

/** Adds the tensors of a state to the gradients of the values. */
export function addStateGradients(values: StateTree<HostValue>, gradients: CellState): void {
  mapState<HostValue | FloatTensor, null>([values, gradients], ([value, gradient]) => {
    addGradient(value as HostValue, gradient as FloatTensor)
    return null
  })
}
