import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { CellState, StateSize } from '../cell/cell_state.js'
import { type CellPart, CompositeCell } from './composite_cell.js'
import type { RNNCell } from '../cell/rnn_cell.js'

/** A cell around another one that has the state of that one, and no own scope. */
export abstract class CellWrapper<State extends CellState> extends CompositeCell<State> {
  readonly cell: RNNCell<State>
  protected readonly innerPart: CellPart

  /** @param innerScope of the inner cell's variables inside the wrapper's. */
  constructor(cell: RNNCell<State>, name: string, innerScope: string) {
    super(name, cell.dtype)
    this.cell = cell
    this.innerPart = { scope: innerScope, cell, inputSizeOf: (inputSize) => inputSize }
  }

  get stateSize(): StateSize {
    return this.cell.stateSize
  }

  get outputSize(): number {
    return this.cell.outputSize
  }

  override get scope(): string {
    return this.cell.scope
  }

  protected override get inputPart(): CellPart {
    return this.innerPart
  }

  protected override get parts(): readonly CellPart[] {
    return [this.innerPart]
  }
}

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
