import type { CanonicalParams } from '@cudnn-rnn/canonical'

/** The gates of a unit, and its state and output. */
export const TRACES = ['input', 'forget', 'new memory', 'output', 'cell state', 'hidden state'] as const

export type Trace = (typeof TRACES)[number]

/** Values by trace, each [T,H]: of T steps and H units. */
export type GateActivity = Readonly<Record<Trace, Float32Array>>

/**
 * The gates of the first layer of a unidirectional LSTM at every step. Executors keep gates to themselves, so this computes
 * them again, by the formulas of cuDNN's LSTM:
 *
 *     i, f, o = σ(W x + b_W + R h + b_R)    g = tanh(W x + b_W + R h + b_R)
 *     c = f·c + i·g                         h = o·tanh(c)
 *
 * @param canonical tensors 0–3 belong to the input x, 4–7 to the state h, each in the order of {@link TRACES}.
 * @param inputs rows [T,I].
 */
export function gateActivity(
  { weights, biases }: CanonicalParams,
  inputs: Float32Array,
  inputSize: number,
  numUnits: number,
): GateActivity {
  const steps = inputs.length / inputSize
  const traces = TRACES.map(() => new Float32Array(steps * numUnits))
  const h = new Float32Array(numUnits)
  const c = new Float32Array(numUnits)
  const gates = [0, 1, 2, 3].map(() => new Float32Array(numUnits))
  for (let t = 0; t < steps; t++) {
    const x = inputs.subarray(t * inputSize, (t + 1) * inputSize)
    for (const [gate, values] of gates.entries()) {
      const [inputBias, recurrentBias] = [biases[gate].data, biases[gate + 4].data]
      for (let unit = 0; unit < numUnits; unit++) {
        const sum =
          dot(weights[gate].data, unit, x) +
          inputBias[unit] +
          dot(weights[gate + 4].data, unit, h) +
          recurrentBias[unit]
        values[unit] = gate === 2 ? Math.tanh(sum) : 1 / (1 + Math.exp(-sum))
      }
    }
    const [i, f, g, o] = gates
    for (let unit = 0; unit < numUnits; unit++) {
      c[unit] = f[unit] * c[unit] + i[unit] * g[unit]
      h[unit] = o[unit] * Math.tanh(c[unit])
    }
    for (const [index, values] of [...gates, c, h].entries()) traces[index].set(values, t * numUnits)
  }
  return Object.fromEntries(TRACES.map((name, index) => [name, traces[index]])) as GateActivity
}

/** The product of a row of a matrix and a vector. */
function dot(matrix: ArrayLike<number>, row: number, vector: Float32Array): number {
  const start = row * vector.length
  let sum = 0
  for (let index = 0; index < vector.length; index++) sum += matrix[start + index] * vector[index]
  return sum
}
