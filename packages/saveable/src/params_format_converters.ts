import {
  type CanonicalParams,
  type CellMode,
  canonicalToTensorflow,
  createRnnDescriptor,
  type Direction,
  type RnnDescriptor,
  type Tensor,
  tensorflowToCanonical,
} from '@cudnn-rnn/canonical'

export interface ConverterOptions {
  readonly numLayers: number
  readonly numUnits: number
  readonly inputSize: number
  readonly direction?: Direction | undefined
  /** LSTM only. */
  readonly numProj?: number | undefined
}

/** One cell's variables by name, as `tensorflowLayout` of the canonical package lists them. */
export type TensorflowCell = Readonly<Record<string, Tensor<Float32Array | Float64Array>>>

/**
 * TensorFlow's `CudnnParamsFormatConverter…`: canonical parameters to and from the variables of its CPU cells, one record
 * per layer and direction. Biases are summed one way and halved the other. skip_input has no such form and is not offered.
 */
abstract class CudnnParamsFormatConverter {
  readonly descriptor: RnnDescriptor

  constructor(cellMode: CellMode, options: ConverterOptions) {
    this.descriptor = createRnnDescriptor({ ...options, cellMode, inputMode: 'linear_input' })
  }

  /** Throws as `canonicalToTensorflow`. */
  canonicalToTfCells(canonical: CanonicalParams): TensorflowCell[] {
    return canonicalToTensorflow(this.descriptor, canonical)
  }

  /** Throws as `tensorflowToCanonical`. */
  tfCellsToCanonical(cells: readonly TensorflowCell[]): CanonicalParams {
    return tensorflowToCanonical(this.descriptor, cells)
  }
}

export class CudnnParamsFormatConverterLSTM extends CudnnParamsFormatConverter {
  constructor(options: ConverterOptions) {
    super('lstm', options)
  }
}

export class CudnnParamsFormatConverterGRU extends CudnnParamsFormatConverter {
  constructor(options: ConverterOptions) {
    super('gru', options)
  }
}

export class CudnnParamsFormatConverterTanh extends CudnnParamsFormatConverter {
  constructor(options: ConverterOptions) {
    super('rnn_tanh', options)
  }
}

export class CudnnParamsFormatConverterRelu extends CudnnParamsFormatConverter {
  constructor(options: ConverterOptions) {
    super('rnn_relu', options)
  }
}
