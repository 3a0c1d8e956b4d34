import type { FloatDType } from '@cudnn-rnn/ops'
import { elementwiseFunction, type Value } from '@cudnn-rnn/ops/executor'
import type { CellRun } from '../cell/cell_run.js'
import type { LSTMStateTuple, StateTree } from '../cell/cell_state.js'
import type { VariableSpec } from '../cell/cell_variables.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { GraphCell } from '../graph/graph_cell.js'
import { lstmPass } from './lstm_pass.js'
import { hiddenSize, type LSTMRule, lstmStateSize, lstmVariableSpecs } from './lstm_rule.js'
import type { CellStep, SequenceOperands, SequencePass } from '../cell/rnn_cell.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'

/**
 * A step of TensorFlow's LSTM cells as operations, which keep it on a device; the equations are `lstmGatesForward`'s.
 */
function lstmEquations(
  { forgetBias, cellClip, clipGradient, usePeepholes, numProj, projClip, ...rule }: LSTMRule,
  graph: StepGraph,
  x: Value,
  { c, h }: LSTMStateTuple<Value>,
): GraphStep {
  const { t } = graph
  const peephole = (z: Value, cell: Value, name: string) =>
    usePeepholes ? t.add(z, t.multiply(cell, graph.variable(name))) : z
  const { activation, recurrentActivation, stateActivation, preactivationClip } = rule
  const gate = (z: Value, shift = 0) => graph.activate(z, recurrentActivation, shift, preactivationClip)
  const [zi, zg, zf, zo] = t.split(graph.linear([x, h], 'kernel', 'bias'), 4)
  const i = gate(peephole(zi, c, 'w_i_diag'))
  const f = gate(peephole(zf, c, 'w_f_diag'), forgetBias)
  const g = graph.activate(zg, activation, 0, preactivationClip)
  const next = graph.clip(t.add(t.multiply(f, c), t.multiply(i, g)), cellClip, clipGradient)
  const o = gate(peephole(zo, next, 'w_o_diag'))
  const m = t.multiply(o, graph.activate(next, stateActivation))
  const output = numProj === null ? m : graph.clip(graph.linear([m], 'projection/kernel'), projClip, 'zero_outside')
  return { output, state: { c: next, h: output } }
}

/** The LSTM cells of this package: each is a rule, and one step of the layer that all share. */
export abstract class LSTMStepCell extends GraphCell<LSTMStateTuple> {
  readonly rule: LSTMRule
  /** Whether the gradients follow from the results of activations, which the layer keeps. */
  readonly #isLayer: boolean

  constructor(name: string, dtype: FloatDType | undefined, rule: LSTMRule) {
    const activations = [rule.activation, rule.recurrentActivation, rule.stateActivation]
    super(name, dtype, activations)
    this.rule = Object.freeze(rule)
    this.#isLayer = activations.every((each) => elementwiseFunction(each).readsArgument !== true)
  }

  get stateSize(): LSTMStateTuple<number> {
    return lstmStateSize(this.rule)
  }

  get outputSize(): number {
    return hiddenSize(this.rule)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return lstmVariableSpecs(this.rule, inputSize)
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    return lstmEquations(this.rule, graph, x, state as LSTMStateTuple<Value>)
  }

  override step(input: FloatTensor, state: LSTMStateTuple, run: CellRun): CellStep<LSTMStateTuple> {
    const { data, shape } = input
    const pass = this.sequencePass({ inputs: { data, shape: [1, ...shape] }, state, lengths: null, run })
    if (pass === undefined) return super.step(input, state, run)
    const { outputs, state: next, backward } = pass
    const [, ...outputShape] = outputs.shape
    return {
      output: { data: outputs.data, shape: outputShape },
      state: next,
      backward(output, stateGradient, variableGradients) {
        const gradients = backward({ data: output.data, shape: [1, ...output.shape] }, stateGradient, variableGradients)
        return { input: { data: gradients.inputs.data, shape }, state: gradients.state }
      },
    }
  }

  override sequencePass(sequence: SequenceOperands<LSTMStateTuple>): SequencePass<LSTMStateTuple> | undefined {
    return this.#isLayer ? lstmPass(this.rule, this.variables, sequence) : undefined
  }
}
