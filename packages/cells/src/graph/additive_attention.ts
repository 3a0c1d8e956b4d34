import type { FloatArray } from '@cudnn-rnn/canonical'

/** Sizes of attention: B rows of L slots of A columns, and V columns of keys and queries. */
interface AttentionSizes {
  readonly slots: number
  readonly width: number
  readonly columns: number
}

interface AttentionOperands {
  /** [B·L,A], the slots of a row one after another. */
  readonly memory: FloatArray
  /** [B·L,V] */
  readonly keys: FloatArray
  /** [B,V] */
  readonly query: FloatArray
  /** [V] */
  readonly vector: FloatArray
}

/**
 * Additive attention over a memory of L slots (Bahdanau, Cho & Bengio 2015, https://arxiv.org/abs/1409.0473): with the slots
 * H_l [A] of a row, their keys K_l = H_l·W [V], its query q [V] and the variable v [V],
 *
 *     s_l = Σ v∘tanh(K_l + q)   a = softmax over l of s   result = Σ a_l·H_l
 *
 * @param results result [B,A]; for the backward a [B·L] and tanh(K_l + q) [B·L,V].
 */
export function attendToSlots(
  [result, weights, hidden]: readonly FloatArray[],
  { memory, keys, query, vector }: AttentionOperands,
  { slots, width, columns }: AttentionSizes,
): void {
  for (let b = 0; b < query.length / width; b++) {
    let largest = Number.NEGATIVE_INFINITY
    for (let slot = b * slots; slot < (b + 1) * slots; slot++) {
      let score = 0
      for (let k = 0; k < width; k++) {
        const h = Math.tanh(keys[slot * width + k] + query[b * width + k])
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
      for (let k = 0; k < columns; k++) result[b * columns + k] += weights[slot] * memory[slot * columns + k]
    }
  }
}

/** Adds the gradients of {@link attendToSlots}. */
export function slotGradients(
  gradients: AttentionOperands,
  dResult: FloatArray,
  { memory, vector }: AttentionOperands,
  [weights, hidden]: readonly FloatArray[],
  { slots, width, columns }: AttentionSizes,
): void {
  const dWeights = new Float64Array(slots)
  for (let b = 0; b < dResult.length / columns; b++) {
    let mean = 0
    for (let l = 0; l < slots; l++) {
      const slot = b * slots + l
      let d = 0
      for (let k = 0; k < columns; k++) {
        d += dResult[b * columns + k] * memory[slot * columns + k]
        gradients.memory[slot * columns + k] += weights[slot] * dResult[b * columns + k]
      }
      dWeights[l] = d
      mean += weights[slot] * d
    }
    for (let l = 0; l < slots; l++) {
      const slot = b * slots + l
      const dScore = weights[slot] * (dWeights[l] - mean)
      for (let k = 0; k < width; k++) {
        const h = hidden[slot * width + k]
        gradients.vector[k] += dScore * h
        const d = dScore * vector[k] * (1 - h * h)
        gradients.keys[slot * width + k] += d
        gradients.query[b * width + k] += d
      }
    }
  }
}
