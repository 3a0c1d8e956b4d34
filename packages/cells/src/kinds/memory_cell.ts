import type { CellActivation } from '@cudnn-rnn/canonical'
import type { CellOptions } from '../cell/cell_options.js'
import type { LSTMStateTuple } from '../cell/cell_state.js'
import { GraphCell } from '../graph/graph_cell.js'

/** A cell whose state is { c, h }: h has `hidden` columns, as has the output. */
export abstract class MemoryCell extends GraphCell<LSTMStateTuple> {
  readonly stateSize: LSTMStateTuple<number>
  readonly outputSize: number
  readonly numUnits: number

  constructor(
    name: string,
    { dtype }: CellOptions,
    numUnits: number,
    hidden: number,
    activations: readonly CellActivation[] = [],
  ) {
    super(name, dtype, activations)
    this.stateSize = Object.freeze({ c: numUnits, h: hidden })
    this.outputSize = hidden
    this.numUnits = numUnits
  }
}
