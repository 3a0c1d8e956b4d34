import { GATE_ORDERS, gatesOf, type Tensor } from '@cudnn-rnn/canonical'
import { canonicalGroup, ungrouped } from './parameter_layouts.js'
import type { Task } from './runner.js'
import type { TensorRecord } from './tensor_file.js'

/**
 * The operands of one layer as native/onednn_runner reads them: W [I,G,H], R [H,G,H], b [G,H] (of GRU [4,H], the last being
 * the recurrent bias of the new memory), x [T,B,I]. Source: oneDNN, "RNN", "Linear-before-reset GRU".
 */
export function onednnOperands({ workload, parameters, input }: Task): TensorRecord {
  const { cellMode, time, batch, inputSize, numUnits } = workload
  const { weights, biases } = canonicalGroup(ungrouped(parameters)[0])
  // oneDNN's gates by their place in the canonical order.
  const canonical = gatesOf(cellMode)
  const gates = GATE_ORDERS.onednn[cellMode].map((gate) => canonical.indexOf(gate))
  const count = gates.length
  const bias = (index: number) => biases[index].data
  const sums = gates.map((gate) =>
    cellMode === 'gru' && gate === 2 ? bias(gate) : bias(gate).map((value, unit) => value + bias(count + gate)[unit]),
  )
  if (cellMode === 'gru') sums.push(bias(count + 2))
  return {
    inputWeights: interleaved(
      gates.map((gate) => weights[gate]),
      inputSize,
      numUnits,
    ),
    recurrentWeights: interleaved(
      gates.map((gate) => weights[count + gate]),
      numUnits,
      numUnits,
    ),
    bias: { data: Float32Array.from(sums.flatMap((values) => [...values])), shape: [sums.length, numUnits] },
    input: { data: input, shape: [time, batch, inputSize] },
  }
}

/** [depth,G,H] of G matrices [H,depth]. */
function interleaved(matrices: readonly Tensor<Float32Array>[], depth: number, units: number): Tensor<Float32Array> {
  const gates = matrices.length
  const data = new Float32Array(depth * gates * units)
  for (const [gate, matrix] of matrices.entries()) {
    for (let unit = 0; unit < units; unit++) {
      for (let k = 0; k < depth; k++) data[(k * gates + gate) * units + unit] = matrix.data[unit * depth + k]
    }
  }
  return { data, shape: [depth, gates, units] }
}
