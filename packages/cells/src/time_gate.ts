import { entryOf } from '@cudnn-rnn/canonical/rules'
import { addRow } from '@cudnn-rnn/ops/executor'
import type { TimeGateNames } from './step_graph.js'
import type { HostValue, StepTape } from './step_tape.js'

/**
 * The openness k [B,U] of a phased gate at the times t [B,1]. With the period τ, the shift s, the open ratio r and
 * φ = mod(t - s, τ)/τ, mod the remainder of a floored division:
 *
 *     k = 2φ/r  where φ < r/2,   2 - 2φ/r  where r/2 <= φ < r,   leak·φ  elsewhere
 *
 * Backward as TensorFlow's: mod passes the gradient to t - s alone, so ∂φ/∂t = 1/τ, ∂φ/∂s = -1/τ, ∂φ/∂τ = -mod/τ².
 *
 * @param trainsRatio false: r has no gradient.
 */
export function timeGate(
  tape: StepTape,
  time: HostValue,
  names: TimeGateNames,
  leak: number,
  trainsRatio: boolean,
): HostValue {
  const period = tape.variable(names.period).data
  const phase = tape.variable(names.phase).data
  const ratio = tape.variable(names.ratioOn).data
  const units = period.length
  const batch = time.rows
  const remainder = new Float64Array(batch * units)
  const open = tape.newArray(batch * units)
  for (let b = 0; b < batch; b++) {
    for (let unit = 0; unit < units; unit++) {
      const k = b * units + unit
      const tau = period[unit]
      const shifted = time.data[b] - phase[unit]
      remainder[k] = shifted - tau * Math.floor(shifted / tau)
      const phi = remainder[k] / tau
      const r = ratio[unit]
      open[k] = phi < r / 2 ? (2 * phi) / r : phi < r ? 2 - (2 * phi) / r : leak * phi
    }
  }
  return tape.result(open, [batch, units], (dOpen, variables) => {
    const dPeriod = entryOf(variables, names.period).data
    const dPhase = entryOf(variables, names.phase).data
    const dRatio = tape.newArray(units)
    const dTime = time.gradient
    for (let b = 0; b < batch; b++) {
      for (let unit = 0; unit < units; unit++) {
        const k = b * units + unit
        const tau = period[unit]
        const r = ratio[unit]
        const phi = remainder[k] / tau
        const slope = phi < r / 2 ? 2 / r : phi < r ? -2 / r : leak
        const dPhi = dOpen[k] * slope
        dTime[b] += dPhi / tau
        dPhase[unit] -= dPhi / tau
        dPeriod[unit] -= (dPhi * remainder[k]) / (tau * tau)
        if (phi < r) dRatio[unit] -= (dPhi * phi) / r
      }
    }
    if (trainsRatio) addRow(entryOf(variables, names.ratioOn).data, 0, dRatio, 0, units)
  })
}
