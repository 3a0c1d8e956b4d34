import type { FloatDType } from '@cudnn-rnn/backend'
import type { CellRun } from './cell_run.js'
import type { LSTMStateTuple, StateTree } from './cell_state.js'
import type { VariableSpec } from './cell_variables.js'
import type { FloatTensor } from './float_tensor.js'
import { lstmEquations } from './lstm_equations.js'
import { lstmPass } from './lstm_pass.js'
import { hiddenSize, type LSTMRule, lstmStateSize, lstmVariableSpecs } from './lstm_rule.js'
import { type CellStep, RNNCell } from './rnn_cell.js'
import type { SequencePass } from './sequence_pass.js'
import type { EquationCell, GraphStep, GraphValue, StepGraph } from './step_graph.js'

/** The LSTM cells of this package: each is a rule, and one step of the layer that all share. */
export abstract class LSTMStepCell extends RNNCell<LSTMStateTuple> implements EquationCell {
  readonly rule: LSTMRule

  constructor(name: string, dtype: FloatDType | undefined, rule: LSTMRule) {
    super(name, dtype)
    this.rule = Object.freeze(rule)
  }

  get stateSize(): LSTMStateTuple<number> {
    return lstmStateSize(this.rule)
  }

  get outputSize(): number {
    return hiddenSize(this.rule)
  }

  override get runsOnTensors(): boolean {
    return true
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return lstmVariableSpecs(this.rule, inputSize)
  }

  equations<Value extends GraphValue>(graph: StepGraph<Value>, x: Value, state: StateTree<Value>): GraphStep<Value> {
    return lstmEquations(this.rule, graph, x, state as LSTMStateTuple<Value>)
  }

  override step({ data, shape }: FloatTensor, state: LSTMStateTuple, run: CellRun): CellStep<LSTMStateTuple> {
    const sequence = { data, shape: [1, ...shape] }
    const { outputs, state: next, backward } = this.sequencePass(sequence, state, null, run)
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

  override sequencePass(
    inputs: FloatTensor,
    state: LSTMStateTuple,
    lengths: Int32Array | null,
    run: CellRun,
  ): SequencePass<LSTMStateTuple> {
    return lstmPass(this.rule, this.variables, inputs, state, lengths, run)
  }
}
