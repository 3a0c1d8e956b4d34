import {
  type CanonicalParams,
  numDirections,
  numGates,
  numPseudoLayers,
  type RnnDescriptor,
  type Tensor,
} from '../src/index.js'

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

/**
 * The equations of docs/canonical_layout.md, number by number, from zero states: input [T,B,I] → output [T,B,D·(P or H)].
 * It shares no code with the layouts it judges beyond the order of the canonical lists.
 */
export function naiveForward(descriptor: RnnDescriptor, { weights, biases }: CanonicalParams, input: Tensor): number[] {
  const [T, B, I] = input.shape as [number, number, number]
  const gates = numGates(descriptor)
  const perLayer = weights.length / numPseudoLayers(descriptor)
  let sequence = Array.from({ length: T }, (_, t) =>
    Array.from({ length: B }, (_, b) => Array.from(input.data.slice((t * B + b) * I, (t * B + b + 1) * I))),
  )
  for (let layer = 0; layer < descriptor.numLayers; layer++) {
    const next = sequence.map((rows) => rows.map((): number[] => []))
    for (let direction = 0; direction < numDirections(descriptor); direction++) {
      const p = layer * numDirections(descriptor) + direction
      const w = weights.slice(p * perLayer, (p + 1) * perLayer)
      const bias = biases.slice(p * 2 * gates, (p + 1) * 2 * gates)
      const affine = (k: number, x: readonly number[]) =>
        Array.from(bias[k].data, (b, row) => x.reduce((sum, v, i) => sum + v * w[k].data[row * x.length + i], b))
      for (let b = 0; b < B; b++) {
        let h = Array<number>(descriptor.numProj ?? descriptor.numUnits).fill(0)
        const c = Array<number>(descriptor.numUnits).fill(0)
        for (let step = 0; step < T; step++) {
          const t = direction === 0 ? step : T - 1 - step
          const x = Array.from({ length: gates }, (_, gate) => affine(gate, sequence[t][b]))
          const r = Array.from({ length: gates }, (_, gate) => affine(gates + gate, h))
          const sum = (gate: number, row: number) => x[gate][row] + r[gate][row]
          const units = c.map((_, row) => {
            if (descriptor.cellMode === 'rnn_tanh') return Math.tanh(sum(0, row))
            if (descriptor.cellMode === 'rnn_relu') return Math.max(0, sum(0, row))
            if (descriptor.cellMode === 'gru') {
              const update = sigmoid(sum(1, row))
              const candidate = Math.tanh(x[2][row] + sigmoid(sum(0, row)) * r[2][row])
              return (1 - update) * candidate + update * h[row]
            }
            c[row] = sigmoid(sum(1, row)) * c[row] + sigmoid(sum(0, row)) * Math.tanh(sum(2, row))
            return sigmoid(sum(3, row)) * Math.tanh(c[row])
          })
          const projection = w[2 * gates]?.data
          h = projection
            ? h.map((_, p) => units.reduce((s, u, i) => s + u * projection[p * units.length + i], 0))
            : units
          next[t][b].push(...h)
        }
      }
    }
    sequence = next
  }
  return sequence.flat(2)
}
