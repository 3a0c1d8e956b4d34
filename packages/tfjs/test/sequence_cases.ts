import type { SequenceOperands, SequencePass } from '../src/sequence.js'

/** Numbers in ±`scale` that repeat late. */
export function wave(length: number, start: number, scale = 1): Float32Array {
  return Float32Array.from({ length }, (_, k) => scale * Math.sin(1.3 * (k + 1) + start))
}

/** Operands of a cell of `gates` gates, with a bias; of LSTM with two states. */
export function operandsOf(gates: number, mask: Uint8Array | null, numStates = 1): SequenceOperands {
  const [time, batch, inputs, units] = [4, 3, 2, 3]
  const x = wave(time * batch * (inputs + 1), 2)
  for (let row = 0; row < time * batch; row++) x[row * (inputs + 1) + inputs] = 1
  return {
    ...{ time, batch, inputs, units, mask, x },
    kernel: wave((inputs + 1) * gates * units, 3, 0.8),
    recurrentKernel: wave(units * gates * units, 4, 0.8),
    states: Array.from({ length: numStates }, (_, index) => wave(batch * units, 5 + index, 0.5)),
  }
}

/** [T,B] of 4 steps: a row without masked steps, one with holes, one that is masked throughout. */
export const MASK = Uint8Array.of(...[1, 0, 0], ...[1, 1, 0], ...[1, 0, 0], ...[1, 1, 0])

type Recurrence = (operands: SequenceOperands) => SequencePass

/** A weighted sum of all outputs and final states, and its gradients with respect to the operands. */
export function lossOf(run: Recurrence, operands: SequenceOperands) {
  const { time, batch, units } = operands
  const pass = run(operands)
  const outputs = wave(time * batch * units, 7)
  const finals = operands.states.map((_, index) => wave(batch * units, 8 + index))
  const results = [pass.hidden.slice(time * batch * units), ...pass.finalCells]
  const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, index) => sum + value * b[index], 0)
  const loss =
    dot(pass.hidden.slice(batch * units), outputs) +
    finals.reduce((sum, weights, index) => sum + dot(results[index], weights), 0)
  return {
    loss,
    gradients: () => {
      const { x, kernel, recurrentKernel, states } = pass.backward(
        outputs.slice(),
        finals.map((each) => each.slice()),
      )
      return { x: x(), kernel, recurrentKernel, states }
    },
  }
}

/** Central differences of the loss with respect to every element of an operand, in the arithmetic of float32. */
export function differences(run: Recurrence, operands: SequenceOperands, of: (o: SequenceOperands) => Float32Array) {
  const step = 2 ** -6
  const values = of(operands)
  return Array.from(values, (value, index) => {
    values[index] = value + step
    const above = lossOf(run, operands).loss
    values[index] = value - step
    const below = lossOf(run, operands).loss
    values[index] = value
    return (above - below) / (2 * step)
  })
}
