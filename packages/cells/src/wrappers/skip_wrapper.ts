import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { CellState } from '../cell/cell_state.js'
import { CellWrapper } from './cell_wrapper.js'

/** A cell around another one whose output is combined with the input, which has to have as many columns. */
export abstract class SkipWrapper<State extends CellState> extends CellWrapper<State> {
  protected override checkInputSize(inputSize: number): void {
    if (inputSize === this.outputSize) return
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot build ${this.constructor.name} of ${this.cell.name} as input and output must have the same columns: current numbers are ${inputSize} and ${this.outputSize}`,
      { option: 'inputSize', value: inputSize },
    )
  }
}
