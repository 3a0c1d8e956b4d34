import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { HostValue, StepTape } from './step_tape.js'

/**
 * γ∘(x - μ)/√(σ² + ε) + β over the columns of each row, μ and σ² its mean and (biased) variance, γ and β variables of the
 * cell. Ba, Kiros & Hinton 2016, https://arxiv.org/abs/1607.06450. With x̂ = (x - μ)/√(σ² + ε) and g = ∂y∘γ:
 *
 *     ∂x = (g - mean(g) - x̂∘mean(g∘x̂))/√(σ² + ε)   ∂γ += Σ ∂y∘x̂   ∂β += Σ ∂y
 */
export function layerNorm(
  tape: StepTape,
  x: HostValue,
  gammaName: string,
  betaName: string,
  epsilon: number,
): HostValue {
  const { rows, columns } = x
  const gamma = tape.variable(gammaName).data
  const beta = tape.variable(betaName).data
  const normalized = tape.newArray(x.data.length)
  const inverse = new Float64Array(rows)
  const y = tape.newArray(x.data.length)
  for (let row = 0; row < rows; row++) {
    const begin = row * columns
    let mean = 0
    for (let k = 0; k < columns; k++) mean += x.data[begin + k]
    mean /= columns
    let variance = 0
    for (let k = 0; k < columns; k++) variance += (x.data[begin + k] - mean) ** 2
    variance /= columns
    inverse[row] = 1 / Math.sqrt(variance + epsilon)
    for (let k = 0; k < columns; k++) {
      const value = (x.data[begin + k] - mean) * inverse[row]
      normalized[begin + k] = value
      y[begin + k] = value * gamma[k] + beta[k]
    }
  }
  return tape.result(y, x.shape, (dy, variables) => {
    const dx = x.gradient
    const dGamma = entryOf(variables, gammaName).data
    const dBeta = entryOf(variables, betaName).data
    for (let row = 0; row < rows; row++) {
      const begin = row * columns
      let mean = 0
      let slope = 0
      for (let k = 0; k < columns; k++) {
        const d = dy[begin + k]
        const value = normalized[begin + k]
        dGamma[k] += d * value
        dBeta[k] += d
        mean += d * gamma[k]
        slope += d * gamma[k] * value
      }
      mean /= columns
      slope /= columns
      for (let k = 0; k < columns; k++) {
        const g = dy[begin + k] * gamma[k]
        dx[begin + k] += (g - mean - normalized[begin + k] * slope) * inverse[row]
      }
    }
  })
}
