import type { CanonicalParams } from '@cudnn-rnn/canonical'

/** The gates of a unit, and its state and output. */
export const TRACES = ['input', 'forget', 'new memory', 'output', 'cell state', 'hidden state'] as const

export type Trace = (typeof TRACES)[number]

/** Values of one step by trace, each [H]. */
export type GateActivity = Readonly<Record<Trace, Float32Array>>

/**
 * The gates of the first layer of a unidirectional LSTM, step by step. Executors keep gates to themselves, so this computes
 * them again, by the formulas of cuDNN's LSTM:
 *
 *     i, f, o = σ(W x + b_W + R h + b_R)    g = tanh(W x + b_W + R h + b_R)
 *     c = f·c + i·g                         h = o·tanh(c)
 */
export class GateTracer {
  readonly #canonical: CanonicalParams
  readonly #hidden: Float32Array
  readonly #cell: Float32Array

  /** @param canonical tensors 0–3 belong to the input x, 4–7 to the state h, each in the order of {@link TRACES}. */
  constructor(canonical: CanonicalParams, numUnits: number) {
    this.#canonical = canonical
    this.#hidden = new Float32Array(numUnits)
    this.#cell = new Float32Array(numUnits)
  }

  /** The values at the next step, whose input is `x` [I]. The states begin at zero. */
  step(x: Float32Array): GateActivity {
    const { weights, biases } = this.#canonical
    const [h, c] = [this.#hidden, this.#cell]
    const gates = [0, 1, 2, 3].map((gate) => {
      const [inputBias, recurrentBias] = [biases[gate].data, biases[gate + 4].data]
      return h.map((_, unit) => {
        const sum =
          dot(weights[gate].data, unit, x) +
          inputBias[unit] +
          dot(weights[gate + 4].data, unit, h) +
          recurrentBias[unit]
        return gate === 2 ? Math.tanh(sum) : 1 / (1 + Math.exp(-sum))
      })
    })
    const [i, f, g, o] = gates
    for (let unit = 0; unit < h.length; unit++) {
      c[unit] = f[unit] * c[unit] + i[unit] * g[unit]
      h[unit] = o[unit] * Math.tanh(c[unit])
    }
    const values = [...gates, c.slice(), h.slice()]
    return Object.fromEntries(TRACES.map((name, index) => [name, values[index]])) as GateActivity
  }
}

function dot(matrix: ArrayLike<number>, row: number, vector: Float32Array): number {
  const start = row * vector.length
  let sum = 0
  for (let index = 0; index < vector.length; index++) sum += matrix[start + index] * vector[index]
  return sum
}
