import { codedRangeError } from '@cudnn-rnn/canonical'
import type { CellState } from './cell_state.js'
import { type BuildOptions, checkBuild } from './cell_variables.js'
import { CellWrapper } from './cell_wrapper.js'

/** A cell around another one whose output is combined with the input, which has to have as many columns. */
export abstract class SkipWrapper<State extends CellState> extends CellWrapper<State> {
  /** As every cell's; RangeError `ERR_INVALID_OPTION` also where input and output differ in their columns. */
  override build(inputSize: number, options: BuildOptions = {}): void {
    checkBuild(this.name, inputSize, options)
    if (inputSize !== this.outputSize) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot build ${this.constructor.name} of ${this.cell.name} as input and output must have the same columns: current numbers are ${inputSize} and ${this.outputSize}`,
        { option: 'inputSize', value: inputSize },
      )
    }
    super.build(inputSize, options)
  }
}
