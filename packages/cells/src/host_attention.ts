import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { HostValue, StepTape } from './step_tape.js'

/**
 * Additive attention over a memory of L slots (Bahdanau, Cho & Bengio 2015, https://arxiv.org/abs/1409.0473): with the slots
 * H_l [A] of a row, their keys K_l = H_l·W [V], its query q [V] and the variable v [V],
 *
 *     s_l = Σ v∘tanh(K_l + q)   a = softmax over l of s   result = Σ a_l·H_l
 *
 * @param memory [B·L,A], the slots of a row one after another.
 * @param keys [B·L,V]
 * @param query [B,V]
 * @param vectorName of the variable v.
 * @returns [B,A]
 */
export function additiveAttention(
  tape: StepTape,
  memory: HostValue,
  keys: HostValue,
  query: HostValue,
  vectorName: string,
): HostValue {
  const batch = query.rows
  const slots = memory.rows / batch
  const { columns: width } = query
  const { columns } = memory
  const vector = tape.variable(vectorName).data
  const hidden = tape.newArray(keys.data.length)
  const weights = new Float64Array(batch * slots)
  const result = tape.newArray(batch * columns)
  for (let b = 0; b < batch; b++) {
    let largest = Number.NEGATIVE_INFINITY
    for (let slot = b * slots; slot < (b + 1) * slots; slot++) {
      let score = 0
      for (let k = 0; k < width; k++) {
        const h = Math.tanh(keys.data[slot * width + k] + query.data[b * width + k])
        hidden[slot * width + k] = h
        score += vector[k] * h
      }
      weights[slot] = score
      // NaN stays NaN.
      largest = score <= largest ? largest : score
    }
    let sum = 0
    for (let slot = b * slots; slot < (b + 1) * slots; slot++) sum += weights[slot] = Math.exp(weights[slot] - largest)
    for (let slot = b * slots; slot < (b + 1) * slots; slot++) {
      weights[slot] /= sum
      for (let k = 0; k < columns; k++) result[b * columns + k] += weights[slot] * memory.data[slot * columns + k]
    }
  }
  return tape.result(result, [batch, columns], (dResult, variables) => {
    const dVector = entryOf(variables, vectorName).data
    const dWeights = new Float64Array(slots)
    for (let b = 0; b < batch; b++) {
      let mean = 0
      for (let l = 0; l < slots; l++) {
        const slot = b * slots + l
        let d = 0
        for (let k = 0; k < columns; k++) {
          d += dResult[b * columns + k] * memory.data[slot * columns + k]
          memory.gradient[slot * columns + k] += weights[slot] * dResult[b * columns + k]
        }
        dWeights[l] = d
        mean += weights[slot] * d
      }
      for (let l = 0; l < slots; l++) {
        const slot = b * slots + l
        const dScore = weights[slot] * (dWeights[l] - mean)
        for (let k = 0; k < width; k++) {
          const h = hidden[slot * width + k]
          dVector[k] += dScore * h
          const d = dScore * vector[k] * (1 - h * h)
          keys.gradient[slot * width + k] += d
          query.gradient[b * width + k] += d
        }
      }
    }
  })
}
