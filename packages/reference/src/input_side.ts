import type { FloatArray, RnnDescriptor } from '@cudnn-rnn/canonical'
import { addProduct, addRow, fillRows, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { gateRows, type LayerParams, layerMatrices } from './layer_params.js'

/**
 * Computes result [rows, G·H] = input [rows, in]·Wᵀ + b_W, or with skip_input the input itself at every gate, + b_W. Prepared
 * once: the step of a stream makes no views.
 *
 * @param rows T·B of a whole sequence, B of one step.
 */
export function inputSide(
  descriptor: RnnDescriptor,
  params: LayerParams,
  flat: FloatArray,
  input: FloatArray,
  rows: number,
  result: FloatArray,
): () => void {
  const { inputSize, inputBias } = params
  const gates = gateRows(descriptor)
  const { input: weights } = layerMatrices(descriptor, params, flat)
  const [x, z, weightsT] = [matrix(input, inputSize), matrix(result, gates), weights && transposed(weights)]
  return () => {
    fillRows(result, rows, gates, flat, inputBias)
    if (weightsT !== undefined) {
      addProduct(z, x, weightsT, rows, gates, inputSize)
      return
    }
    for (let row = 0; row < rows; row++) {
      for (let gate = 0; gate < gates; gate += inputSize) {
        addRow(result, row * gates + gate, input, row * inputSize, inputSize)
      }
    }
  }
}
