import type { FloatArray } from '@cudnn-rnn/canonical'
import type { ElementwiseFunction } from '@cudnn-rnn/ops/executor'
import { LSTM_COLUMNS, type LSTMRule, type LSTMVariables } from './lstm_rule.js'
import type { LSTMArrays } from './lstm_sequence.js'

type Peepholes = LSTMVariables['peepholes']

/** A rule with its functions: σ and act with bounded arguments if the rule has a bound, and the act of the new cell state. */
export interface LSTMGateRule extends LSTMRule {
  readonly gate: ElementwiseFunction
  readonly candidate: ElementwiseFunction
  readonly output: ElementwiseFunction
}

/**
 * The gates of one row. With the four preactivations ẑ = [x,h]·K + b, the forget bias φ and the peepholes p (0 if none):
 *
 *     i = σ(ẑ_i + p_i∘c)   g = act(ẑ_c)   f = σ(ẑ_f + φ + p_f∘c)
 *     c' = clip(f∘c + i∘g)   o = σ(ẑ_o + p_o∘c')   m = o∘act(c')
 *
 * Source: TensorFlow's `LSTMCell` (rnn_cell_impl.py) and `BlockLSTM` (lstm_ops.cc), v1.15.5. If the rule has a
 * `preactivationClip`, it bounds the arguments of σ and of act(ẑ_c).
 *
 * @param row of the gates: preactivations, replaced by i, g, f, o in the kernel's column order; that of the cells is read, and the
 *   one of the next step written.
 * @param hidden [H] at `hiddenBegin`: m.
 */
export function lstmGatesForward(
  rule: LSTMGateRule,
  peepholes: Peepholes,
  { gates, cells, batch }: LSTMArrays,
  row: number,
  hidden: FloatArray,
  hiddenBegin: number,
): void {
  const { numUnits, forgetBias, cellClip } = rule
  const [gatesBegin, previous, next] = [row * 4 * numUnits, row * numUnits, (row + batch) * numUnits]
  const sigmoid = rule.gate.value
  const act = rule.output.value
  for (let unit = 0; unit < numUnits; unit++) {
    const zi = gatesBegin + LSTM_COLUMNS.input * numUnits + unit
    const zg = gatesBegin + LSTM_COLUMNS.candidate * numUnits + unit
    const zf = gatesBegin + LSTM_COLUMNS.forget * numUnits + unit
    const zo = gatesBegin + LSTM_COLUMNS.output * numUnits + unit
    const c = cells[previous + unit]
    const i = sigmoid(gates[zi] + (peepholes === undefined ? 0 : peepholes.input.data[unit] * c))
    const f = sigmoid(gates[zf] + forgetBias + (peepholes === undefined ? 0 : peepholes.forget.data[unit] * c))
    const g = rule.candidate.value(gates[zg])
    const newCell = Math.min(cellClip, Math.max(-cellClip, f * c + i * g))
    const o = sigmoid(gates[zo] + (peepholes === undefined ? 0 : peepholes.output.data[unit] * newCell))
    gates[zi] = i
    gates[zg] = g
    gates[zf] = f
    gates[zo] = o
    cells[next + unit] = newCell
    hidden[hiddenBegin + unit] = o * act(newCell)
  }
}

/**
 * Backward of {@link lstmGatesForward} for one row, from ∂m and the ∂c' that arrives from the step after:
 *
 *     ∂ẑ_o = ∂m∘act(c')∘o(1-o)
 *     ∂c' += ∂m∘o∘act'(c') + ∂ẑ_o∘p_o     (`zero_outside`: then 0 where the clip holds c')
 *     ∂ẑ_i = ∂c'∘g∘i(1-i)   ∂ẑ_f = ∂c'∘c∘f(1-f)   ∂ẑ_c = ∂c'∘i∘act'(ẑ_c)
 *     ∂c   = ∂c'∘f + ∂ẑ_i∘p_i + ∂ẑ_f∘p_f
 *     ∂p_i += ∂ẑ_i∘c   ∂p_f += ∂ẑ_f∘c   ∂p_o += ∂ẑ_o∘c'
 *
 * @param row of the gates, which are replaced by ∂ẑ.
 * @param cellGradient [B,H]: ∂c' in, ∂c out.
 */
export function lstmGatesBackward(
  rule: LSTMGateRule,
  peepholes: Peepholes,
  peepholeGradients: Peepholes,
  { gates, cells, batch }: LSTMArrays,
  row: number,
  hiddenGradient: FloatArray,
  cellGradient: FloatArray,
): void {
  const { numUnits, cellClip, gate, candidate } = rule
  const [gatesBegin, previous, next] = [row * 4 * numUnits, row * numUnits, (row + batch) * numUnits]
  const stateBegin = (row % batch) * numUnits
  const { value: act, slope } = rule.output
  for (let unit = 0; unit < numUnits; unit++) {
    const zi = gatesBegin + LSTM_COLUMNS.input * numUnits + unit
    const zg = gatesBegin + LSTM_COLUMNS.candidate * numUnits + unit
    const zf = gatesBegin + LSTM_COLUMNS.forget * numUnits + unit
    const zo = gatesBegin + LSTM_COLUMNS.output * numUnits + unit
    const i = gates[zi]
    const g = gates[zg]
    const f = gates[zf]
    const o = gates[zo]
    const c = cells[previous + unit]
    const newCell = cells[next + unit]
    const activated = act(newCell)
    const dm = hiddenGradient[stateBegin + unit]
    const dzo = dm * activated * gate.slope(o)
    let dNewCell = cellGradient[stateBegin + unit] + dm * o * slope(activated)
    if (peepholes !== undefined) dNewCell += dzo * peepholes.output.data[unit]
    if (rule.clipGradient === 'zero_outside' && Math.abs(newCell) >= cellClip) dNewCell = 0
    const dzi = dNewCell * g * gate.slope(i)
    const dzf = dNewCell * c * gate.slope(f)
    let dc = dNewCell * f
    if (peepholes !== undefined && peepholeGradients !== undefined) {
      dc += dzi * peepholes.input.data[unit] + dzf * peepholes.forget.data[unit]
      peepholeGradients.input.data[unit] += dzi * c
      peepholeGradients.forget.data[unit] += dzf * c
      peepholeGradients.output.data[unit] += dzo * newCell
    }
    gates[zi] = dzi
    gates[zg] = dNewCell * i * candidate.slope(g)
    gates[zf] = dzf
    gates[zo] = dzo
    cellGradient[stateBegin + unit] = dc
  }
}
