import {
  invalidOption,
  entryOf,
  FINITE,
  FLAG,
  NUMBER,
  type OptionsOf,
  optional,
  POSITIVE,
  where,
} from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import { CELL_OPTIONS, type CellOptions, checkCellOptions } from '../cell/cell_options.js'
import type { LSTMStateTuple, StateTree } from '../cell/cell_state.js'
import { type BuildOptions, checkBuild, denseNames, denseSpecs, type VariableSpec } from '../cell/cell_variables.js'
import { columnsOf, type GraphStep, type StepGraph } from '../graph/step_graph.js'
import { MemoryCell } from './memory_cell.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  /** The gates see the cell state, by more rows of their kernels. Default false. */
  usePeepholes: optional(FLAG),
  /** Openness of a closed gate per phase, in training and inference. Default 0.001. */
  leak: optional(FINITE),
  /** The beginning of `ratio_on`: the part of a period in which the gate is open, in (0, 1]. Default 0.1. */
  ratioOn: optional(where(NUMBER, 'a number in (0, 1]', (ratio: number) => ratio > 0 && ratio <= 1)),
  /** False: `ratio_on` has no gradient. Default true. */
  trainableRatioOn: optional(FLAG),
  /** The shortest period that is drawn, > 0, in the unit of the times. Default 1. */
  periodInitMin: optional(POSITIVE),
  /** The longest period that is drawn. Default 1000. */
  periodInitMax: optional(POSITIVE),
}

interface PhasedLSTMCellOptions extends CellOptions, OptionsOf<typeof OPTIONS> {}

const MASK_GATES = denseNames('mask_gates')
const NEW_INPUT = denseNames('new_input')
const OUTPUT_GATE = denseNames('output_gate')
const GATE = { period: 'period', phase: 'phase', ratioOn: 'ratio_on' }

/**
 * TensorFlow's `PhasedLSTMCell` (Neil, Pfeiffer & Liu 2016, https://arxiv.org/abs/1610.09513): an LSTM whose states change
 * only while a periodic gate of each unit is open, for events at irregular times.
 *
 * TensorFlow's input is a pair (time [B,1], x [B,I]); here it is one tensor [B,1+I] whose first column is the time. Times are
 * absolute. In float32 a time has 24 bits: for times that are large against a period give the cell the dtype float64.
 *
 * Variables `mask_gates/kernel` [I+U,2U] in blocks i,f, `new_input/kernel` [I+U,U], `output_gate/kernel` [I+U,U] (with
 * peepholes U more rows in the first and the last), their `bias`, and `period`, `phase`, `ratio_on` [U].
 *
 *     c̃ = f∘c + i∘n   h̃ = tanh(c̃)∘o   c' = k∘c̃ + (1-k)∘c   h' = k∘h̃ + (1-k)∘h   with the openness k of the gate
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { PhasedLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new PhasedLSTMCell(4)
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,1+I]: the time first
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 4] [2, 4] [2, 4]
 * ```
 */
export class PhasedLSTMCell extends MemoryCell {
  readonly usePeepholes: boolean
  readonly leak: number
  readonly ratioOn: number
  readonly trainableRatioOn: boolean
  readonly periodInitMin: number
  readonly periodInitMax: number

  constructor(numUnits: number, options: PhasedLSTMCellOptions = {}) {
    const given = checkCellOptions('PhasedLSTMCell', numUnits, options, OPTIONS)
    super(given.name ?? 'phased_lstm_cell', given, numUnits, numUnits)
    this.usePeepholes = given.usePeepholes ?? false
    this.leak = given.leak ?? 0.001
    this.ratioOn = given.ratioOn ?? 0.1
    this.trainableRatioOn = given.trainableRatioOn ?? true
    this.periodInitMin = given.periodInitMin ?? 1
    this.periodInitMax = given.periodInitMax ?? 1000
    const { periodInitMin: least, periodInitMax: most } = this
    if (most < least) throw invalidOption('build PhasedLSTMCell', 'periodInitMax', `>= periodInitMin ${least}`, most)
  }

  /** Throws like every cell's `build`, and RangeError `ERR_INVALID_OPTION` if the input has no column but the time. */
  override build(inputSize: number, options: BuildOptions = {}): void {
    const given = checkBuild(this.name, inputSize, options)
    const rule = '>= 2, the time and at least one feature'
    if (inputSize < 2) throw invalidOption(`build ${this.name}`, 'inputSize', rule, inputSize)
    super.build(inputSize, given)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const { numUnits, usePeepholes, periodInitMin, periodInitMax } = this
    const rows = inputSize - 1 + numUnits
    const peepholeRows = rows + (usePeepholes ? numUnits : 0)
    const [shortest, longest] = [Math.log(periodInitMin), Math.log(periodInitMax)]
    return [
      ...denseSpecs(MASK_GATES, peepholeRows, 2 * numUnits),
      ...denseSpecs(NEW_INPUT, rows, numUnits),
      ...denseSpecs(OUTPUT_GATE, peepholeRows, numUnits),
      {
        name: GATE.period,
        shape: [numUnits],
        initializer: ({ random }) => Math.exp(shortest + random.uniform() * (longest - shortest)),
      },
      {
        name: GATE.phase,
        shape: [numUnits],
        initializer: ({ random, element, made }) => random.uniform() * entryOf(made, GATE.period).data[element],
      },
      { name: GATE.ratioOn, shape: [numUnits], initializer: this.ratioOn },
    ]
  }

  override equations(graph: StepGraph, input: Value, state: StateTree<Value>): GraphStep {
    const { t } = graph
    const { c, h } = state as LSTMStateTuple<Value>
    const time = t.columns(input, 0, 1)
    const x = t.columns(input, 1, columnsOf(input) - 1)
    const seen = (cell: Value) => (this.usePeepholes ? [x, h, cell] : [x, h])
    const [i, f] = t.split(graph.sigmoid(graph.linear(seen(c), ...MASK_GATES)), 2)
    const candidate = graph.tanh(graph.linear([x, h], ...NEW_INPUT))
    const proposedC = t.add(t.multiply(f, c), t.multiply(i, candidate))
    const o = graph.sigmoid(graph.linear(seen(proposedC), ...OUTPUT_GATE))
    const proposedH = t.multiply(graph.tanh(proposedC), o)
    const open = graph.timeGate(time, GATE, this.leak, this.trainableRatioOn)
    const next = { c: graph.mix(open, proposedC, c), h: graph.mix(open, proposedH, h) }
    return { output: next.h, state: next }
  }
}
