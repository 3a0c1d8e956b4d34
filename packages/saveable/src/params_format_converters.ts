import {
  type CanonicalParams,
  type CellMode,
  canonicalToTensorflow,
  createRnnDescriptor,
  type RnnDescriptor,
  type RnnOptions,
  type Tensor,
  tensorflowToCanonical,
} from '@cudnn-rnn/canonical'

/** Options of the converters: some of the options of `createRnnDescriptor`, which checks them. */
interface ConverterOptions extends Pick<RnnOptions, 'numLayers' | 'numUnits' | 'inputSize' | 'direction' | 'numProj'> {}

/** One cell's variables by name, as `tensorflowLayout` of the canonical package lists them. */
type TensorflowCell = Readonly<Record<string, Tensor<Float32Array | Float64Array>>>

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

/**
 * @example
 * ```ts
 * import { flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 * import { CudnnParamsFormatConverterLSTM } from '@cudnn-rnn/rnn/saveable'
 *
 * const converter = new CudnnParamsFormatConverterLSTM({ numLayers: 1, numUnits: 4, inputSize: 2 })
 * const layout = flatLayout(converter.descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size).fill(1))
 * const [cell] = converter.canonicalToTfCells(canonical)
 * console.log(cell?.kernel?.shape, cell?.bias?.data[0]) // [6, 16] 2
 * ```
 */
export class CudnnParamsFormatConverterLSTM extends CudnnParamsFormatConverter {
  constructor(options: ConverterOptions) {
    super('lstm', options)
  }
}

/**
 * @example
 * ```ts
 * import { flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 * import { CudnnParamsFormatConverterGRU } from '@cudnn-rnn/rnn/saveable'
 *
 * const converter = new CudnnParamsFormatConverterGRU({ numLayers: 2, numUnits: 4, inputSize: 2 })
 * const layout = flatLayout(converter.descriptor)
 * const cells = converter.canonicalToTfCells(unpackCanonical(layout, new Float32Array(layout.size)))
 * console.log(cells.map((cell) => cell['gates/kernel']?.shape)) // [[6, 8], [8, 8]]
 * ```
 */
export class CudnnParamsFormatConverterGRU extends CudnnParamsFormatConverter {
  constructor(options: ConverterOptions) {
    super('gru', options)
  }
}

/**
 * @example
 * ```ts
 * import { CudnnParamsFormatConverterTanh } from '@cudnn-rnn/rnn/saveable'
 *
 * const converter = new CudnnParamsFormatConverterTanh({ numLayers: 1, numUnits: 1, inputSize: 2 })
 * const kernel = { data: Float32Array.of(1, 2, 3), shape: [3, 1] }
 * const bias = { data: Float32Array.of(4), shape: [1] }
 * const { weights, biases } = converter.tfCellsToCanonical([{ kernel, bias }])
 * console.log(weights[0]?.data, weights[1]?.data, biases[0]?.data) // [1, 2] [3] [2]
 * ```
 */
export class CudnnParamsFormatConverterTanh extends CudnnParamsFormatConverter {
  constructor(options: ConverterOptions) {
    super('rnn_tanh', options)
  }
}

/**
 * @example
 * ```ts
 * import { flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 * import { CudnnParamsFormatConverterRelu } from '@cudnn-rnn/rnn/saveable'
 *
 * const converter = new CudnnParamsFormatConverterRelu({ numLayers: 1, numUnits: 4, inputSize: 2 })
 * const layout = flatLayout(converter.descriptor)
 * const [cell] = converter.canonicalToTfCells(unpackCanonical(layout, new Float32Array(layout.size)))
 * console.log(cell?.kernel?.shape) // [6, 4]
 * ```
 */
export class CudnnParamsFormatConverterRelu extends CudnnParamsFormatConverter {
  constructor(options: ConverterOptions) {
    super('rnn_relu', options)
  }
}
