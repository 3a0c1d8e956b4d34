import {
  type CanonicalParams,
  canonicalToTensorflow,
  createRnnDescriptor,
  type FloatArray,
  GATE_ORDERS,
  gatesOf,
  type NamedTensors,
  numDirections,
  numGates,
  ONNX_PEEPHOLES,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import type { ImportedCell } from './reading.js'

/**
 * The variables of `GRUBlockCell`, or with peepholes of `LSTMBlockCell`, one cell for each direction.
 *
 * @param descriptor one layer.
 * @param peepholes [D,3·H] in ONNX's order; undefined for a GRU.
 */
export function blockCells(
  descriptor: RnnDescriptor,
  canonical: CanonicalParams,
  peepholes: FloatArray | undefined,
  common: Omit<ImportedCell, 'cell' | 'variables' | 'inputSize' | 'numUnits'>,
): ImportedCell[] {
  const { numUnits, inputSize } = descriptor
  const directions = numDirections(descriptor)
  const perDirection = 2 * numGates(descriptor)
  return Array.from({ length: directions }, (_, direction) => {
    const part = <Item>(list: readonly Item[]) => list.slice(direction * perDirection, (direction + 1) * perDirection)
    const own = { weights: part(canonical.weights), biases: part(canonical.biases) }
    const isLstm = descriptor.cellMode === 'lstm'
    return {
      ...common,
      name: directions === 1 ? common.name : `${common.name}/${direction === 0 ? 'forward' : 'backward'}`,
      cell: isLstm ? 'LSTMBlockCell' : 'GRUBlockCell',
      inputSize,
      numUnits,
      reverse: common.reverse || direction === 1,
      variables: isLstm
        ? lstmVariables(descriptor, own, peepholes!.subarray(direction * 3 * numUnits, (direction + 1) * 3 * numUnits))
        : gruVariables(descriptor, own),
    }
  })
}

function lstmVariables(descriptor: RnnDescriptor, own: CanonicalParams, peepholes: FloatArray): NamedTensors {
  const H = descriptor.numUnits
  const single = createRnnDescriptor({ ...descriptor, direction: 'unidirectional' })
  const [variables] = canonicalToTensorflow(single, own as CanonicalParams<FloatArray>)
  const diagonals = ONNX_PEEPHOLES.map((gate, index) => {
    return [`w_${gate[0]}_diag`, { data: peepholes.slice(index * H, (index + 1) * H), shape: [H] }] as const
  })
  return { ...variables, ...Object.fromEntries(diagonals) }
}

/** `w_ru` [in+H,2H], `b_ru`, `w_c` [in+H,H], `b_c`; the two biases of a gate are added. */
function gruVariables(
  { numUnits: H, inputSize: I }: RnnDescriptor,
  { weights, biases }: CanonicalParams,
): NamedTensors {
  const gates: readonly string[] = gatesOf('gru')
  const block = (names: readonly string[]) => {
    const width = names.length * H
    const kernel =
      weights[0]!.data instanceof Float64Array ? new Float64Array((I + H) * width) : new Float32Array((I + H) * width)
    const bias = kernel.slice(0, width)
    for (const [position, name] of names.entries()) {
      const gate = gates.indexOf(name)
      for (const [side, firstRow] of [0, I].entries()) {
        const { data, shape } = weights[side * gates.length + gate]!
        const columns = shape[1]!
        for (let unit = 0; unit < H; unit++) {
          const column = position * H + unit
          for (let k = 0; k < columns; k++) kernel[(firstRow + k) * width + column] = data[unit * columns + k]!
          bias[column]! += biases[side * gates.length + gate]!.data[unit]!
        }
      }
    }
    const tensors: [Tensor<FloatArray>, Tensor<FloatArray>] = [
      { data: kernel, shape: [I + H, width] },
      { data: bias, shape: [width] },
    ]
    return tensors
  }
  const [reset, update, candidate] = GATE_ORDERS.tensorflow.gru
  const [w_ru, b_ru] = block([reset, update])
  const [w_c, b_c] = block([candidate])
  return { w_ru, b_ru, w_c, b_c }
}
