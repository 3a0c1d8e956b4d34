import type { FloatDType } from '@cudnn-rnn/backend'
import type { CellRun } from './cell_run.js'
import type { LSTMStateTuple } from './cell_state.js'
import type { VariableSpec } from './cell_variables.js'
import type { FloatTensor } from './float_tensor.js'
import { hiddenSize, type LSTMRule, lstmStateSize, lstmVariableSpecs } from './lstm_rule.js'
import { LSTMLayer } from './lstm_sequence.js'
import { type CellStep, RNNCell } from './rnn_cell.js'
import type { SequencePass } from './sequence_pass.js'

/** The LSTM cells of this package: each is a rule, and one step of the layer that all share. */
export abstract class LSTMStepCell extends RNNCell<LSTMStateTuple> {
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

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return lstmVariableSpecs(this.rule, inputSize)
  }

  override step({ data, shape }: FloatTensor, state: LSTMStateTuple, run: CellRun): CellStep<LSTMStateTuple> {
    const layer = new LSTMLayer(this.rule, this.variables, shape[1], run)
    const { outputs, state: next, backward } = layer.forward({ data, shape: [1, ...shape] }, state, null)
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
    return new LSTMLayer(this.rule, this.variables, inputs.shape[2], run).forward(inputs, state, lengths)
  }
}
