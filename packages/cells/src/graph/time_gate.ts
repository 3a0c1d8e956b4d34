import type { FloatArray } from '@cudnn-rnn/canonical'

/** The variables [U] of a phased gate, or their gradients. */
export interface TimeGate<Vector = FloatArray> {
  readonly period: Vector
  readonly phase: Vector
  readonly ratioOn: Vector
}

/**
 * The openness k [B,U] of a phased gate at the times t [B,1]. With the period τ, the shift s, the open ratio r and
 * φ = mod(t - s, τ)/τ, mod the remainder of a floored division:
 *
 *     k = 2φ/r  where φ < r/2,   2 - 2φ/r  where r/2 <= φ < r,   leak·φ  elsewhere
 */
export function openTimeGate(
  open: FloatArray,
  time: FloatArray,
  { period, phase, ratioOn }: TimeGate,
  leak: number,
): void {
  const units = period.length
  for (let k = 0; k < open.length; k++) {
    const unit = k % units
    const r = ratioOn[unit]
    const phi = remainderOf(time[(k - unit) / units] - phase[unit], period[unit]) / period[unit]
    open[k] = phi < r / 2 ? (2 * phi) / r : phi < r ? 2 - (2 * phi) / r : leak * phi
  }
}

/**
 * Adds the gradients of {@link openTimeGate}. As TensorFlow's: mod passes the gradient to t - s alone, so ∂φ/∂t = 1/τ,
 * ∂φ/∂s = -1/τ, ∂φ/∂τ = -mod/τ².
 */
export function timeGateGradients(
  dTime: FloatArray,
  gradients: TimeGate,
  time: FloatArray,
  { period, phase, ratioOn }: TimeGate,
  dOpen: FloatArray,
  leak: number,
): void {
  const units = period.length
  for (let k = 0; k < dOpen.length; k++) {
    const unit = k % units
    const b = (k - unit) / units
    const tau = period[unit]
    const r = ratioOn[unit]
    const remainder = remainderOf(time[b] - phase[unit], tau)
    const phi = remainder / tau
    const dPhi = dOpen[k] * (phi < r / 2 ? 2 / r : phi < r ? -2 / r : leak)
    dTime[b] += dPhi / tau
    gradients.phase[unit] -= dPhi / tau
    gradients.period[unit] -= (dPhi * remainder) / (tau * tau)
    if (phi < r) gradients.ratioOn[unit] -= (dPhi * phi) / r
  }
}

function remainderOf(shifted: number, period: number): number {
  return shifted - period * Math.floor(shifted / period)
}
