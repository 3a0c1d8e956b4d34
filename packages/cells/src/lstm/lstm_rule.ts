import { entryOf } from '@cudnn-rnn/canonical/rules'
import { type CellActivation, gatePosition } from '@cudnn-rnn/canonical'
import type { LSTMStateTuple } from '../cell/cell_state.js'
import { denseSpecs, kernelSpec, type VariableMap, type VariableSpec } from '../cell/cell_variables.js'
import type { FloatTensor } from '../cell/float_tensor.js'

/** The differences between TensorFlow's LSTM cells. The rest of their mathematics is shared. */
export interface LSTMRule {
  /** H */
  readonly numUnits: number
  /** Added to the forget gate when it is computed, never stored in the bias. */
  readonly forgetBias: number
  /** Bound of the new cell state; Infinity for none. */
  readonly cellClip: number
  /**
   * The clip in the backward: the block operations ignore it (straight-through), LSTMCell's
   * `clip_by_value` stops it where the clip holds.
   */
  readonly clipGradient: 'straight_through' | 'zero_outside'
  readonly usePeepholes: boolean
  /** P; null if h is not projected. */
  readonly numProj: number | null
  /** Bound of the projected h; Infinity for none. */
  readonly projClip: number
  /** Activation of the candidate. */
  readonly activation: CellActivation
  readonly recurrentActivation: CellActivation
  /** State activation of the new cell state. */
  readonly stateActivation: CellActivation
  /** Bound of the inputs of the gates and the candidate, not of c' within act(c'); Infinity for none. */
  readonly preactivationClip: number
}

/** The rule of a plain LSTM, on which each class states its differences. */
export const PLAIN_LSTM: Omit<LSTMRule, 'numUnits'> = Object.freeze({
  forgetBias: 1,
  cellClip: Number.POSITIVE_INFINITY,
  clipGradient: 'straight_through',
  usePeepholes: false,
  numProj: null,
  projClip: Number.POSITIVE_INFINITY,
  activation: 'tanh',
  recurrentActivation: 'sigmoid',
  stateActivation: 'tanh',
  preactivationClip: Number.POSITIVE_INFINITY,
})

type LSTMActivations = {
  readonly [Name in 'activation' | 'recurrentActivation' | 'stateActivation']?: CellActivation | undefined
}

/** The activations of a rule from a cell's options. */
export function activationsOf(options: LSTMActivations) {
  const { activation = PLAIN_LSTM.activation, recurrentActivation = PLAIN_LSTM.recurrentActivation } = options
  return { activation, recurrentActivation, stateActivation: options.stateActivation ?? activation }
}

/**
 * Column blocks of the kernel [I+P,4H], each H wide: input gate, candidate, forget gate, output gate. TensorFlow's cells
 * call it i,j,f,o, its block operations i,c,f,o: one order under two names (cuDNN's is i,f,c,o).
 */
export const LSTM_COLUMNS = Object.freeze({
  input: gatePosition('tensorflow', 'lstm', 'input'),
  candidate: gatePosition('tensorflow', 'lstm', 'new_memory'),
  forget: gatePosition('tensorflow', 'lstm', 'forget'),
  output: gatePosition('tensorflow', 'lstm', 'output'),
})

/** Columns of h and of the output: P, or H without projection. */
export function hiddenSize({ numProj, numUnits }: LSTMRule): number {
  return numProj ?? numUnits
}

export function lstmStateSize(rule: LSTMRule): LSTMStateTuple<number> {
  return { c: rule.numUnits, h: hiddenSize(rule) }
}

/** The variables in TensorFlow's order of creation; peepholes are drawn like kernels, by the scope's default. */
export function lstmVariableSpecs(rule: LSTMRule, inputSize: number): VariableSpec[] {
  const { numUnits, usePeepholes, numProj } = rule
  return [
    ...denseSpecs(['kernel', 'bias'], inputSize + hiddenSize(rule), 4 * numUnits),
    ...(usePeepholes ? ['w_f_diag', 'w_i_diag', 'w_o_diag'].map((name) => kernelSpec(name, numUnits)) : []),
    ...(numProj === null ? [] : [kernelSpec('projection/kernel', numUnits, numProj)]),
  ]
}

/** The variables of {@link lstmVariableSpecs}, or their gradients, by role; absent ones undefined. */
export interface LSTMVariables {
  readonly kernel: FloatTensor
  readonly bias: FloatTensor
  readonly peepholes: Readonly<Record<'input' | 'forget' | 'output', FloatTensor>> | undefined
  readonly projection: FloatTensor | undefined
}

export function lstmVariables(rule: LSTMRule, variables: VariableMap): LSTMVariables {
  return {
    kernel: entryOf(variables, 'kernel'),
    bias: entryOf(variables, 'bias'),
    peepholes: rule.usePeepholes
      ? {
          input: entryOf(variables, 'w_i_diag'),
          forget: entryOf(variables, 'w_f_diag'),
          output: entryOf(variables, 'w_o_diag'),
        }
      : undefined,
    projection: variables.get('projection/kernel'),
  }
}
