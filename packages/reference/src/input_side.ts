import type { FloatArray, RnnDescriptor } from '@cudnn-rnn/canonical'
import { addProduct, addRow, fillRows, type MatrixView, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { gateRows, type LayerParams, layerMatrices } from './layer_params.js'

/** The operands of {@link computeInputSide}, prepared once and used at every step of a stream. */
export interface InputSide {
  /** Rows: T·B of a whole sequence, B of one step. */
  readonly rows: number
  readonly inputSize: number
  /** G·H */
  readonly gates: number
  readonly flat: FloatArray
  readonly biasBegin: number | undefined
  readonly input: MatrixView
  /** Wᵀ; undefined with skip_input. */
  readonly weightsT: MatrixView | undefined
  readonly result: MatrixView
}

export function prepareInputSide(
  descriptor: RnnDescriptor,
  params: LayerParams,
  flat: FloatArray,
  input: FloatArray,
  rows: number,
  result: FloatArray,
): InputSide {
  const { input: weights } = layerMatrices(descriptor, params, flat)
  return {
    rows,
    inputSize: params.inputSize,
    gates: gateRows(descriptor),
    flat,
    biasBegin: params.inputBias,
    input: matrix(input, params.inputSize),
    weightsT: weights && transposed(weights),
    result: matrix(result, gateRows(descriptor)),
  }
}

/** result [rows, G·H] = input [rows, in]·Wᵀ + b_W, or with skip_input the input itself at every gate, + b_W. */
export function computeInputSide({
  rows,
  inputSize,
  gates,
  flat,
  biasBegin,
  input,
  weightsT,
  result,
}: InputSide): void {
  fillRows(result.data, rows, gates, flat, biasBegin)
  if (weightsT !== undefined) {
    addProduct(result, input, weightsT, rows, gates, inputSize)
    return
  }
  for (let row = 0; row < rows; row++) {
    for (let gate = 0; gate < gates; gate += inputSize) {
      addRow(result.data, row * gates + gate, input.data, row * inputSize, inputSize)
    }
  }
}
