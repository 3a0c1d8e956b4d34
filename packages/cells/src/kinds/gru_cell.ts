import type { CellActivation } from '@cudnn-rnn/canonical'
import type { Value } from '@cudnn-rnn/ops/executor'
import { checkCellOptions, clipBound, GRU_CELL_OPTIONS, type GRUCellOptions } from '../cell/cell_options.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { GraphCell } from '../graph/graph_cell.js'
import type { StepGraph } from '../graph/step_graph.js'

/** The sizes and activations of a GRU. */
export abstract class GRUCell extends GraphCell<FloatTensor> {
  readonly stateSize: number
  readonly outputSize: number
  /** The candidate's activation. */
  readonly activation: CellActivation
  readonly recurrentActivation: CellActivation
  /** Bound of the inputs of the gates and the candidate; Infinity for none. */
  readonly preactivationClip: number

  constructor(className: string, name: string, numUnits: number, options: GRUCellOptions) {
    checkCellOptions(className, numUnits, options, GRU_CELL_OPTIONS)
    const { activation = 'tanh', recurrentActivation = 'sigmoid' } = options
    super(options.name ?? name, options.dtype, [activation, recurrentActivation])
    this.stateSize = numUnits
    this.outputSize = numUnits
    this.activation = activation
    this.recurrentActivation = recurrentActivation
    this.preactivationClip = clipBound(options.preactivationClip)
  }

  protected gates(graph: StepGraph, z: Value): readonly Value[] {
    return graph.t.split(graph.activate(z, this.recurrentActivation, 0, this.preactivationClip), 2)
  }

  protected candidate(graph: StepGraph, z: Value): Value {
    return graph.activate(z, this.activation, 0, this.preactivationClip)
  }
}
