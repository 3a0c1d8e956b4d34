import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { OnnxModel } from './files/onnx_model.js'
import type { StoredTensor } from './stored_tensor.js'

/** Formats that {@link importWeights} reads, by the name that its `format` option and result use. */
export const WEIGHT_FORMATS = [
  'safetensors',
  'pytorch',
  'npz',
  'onnx',
  'keras-h5',
  'keras-archive',
  'keras-json',
  'flax',
  'tensorflow',
] as const

export type WeightFormat = (typeof WEIGHT_FORMATS)[number]

/** A value of a file that is not read: where it is, and its class or the evidence in words. */
export interface UnreadValue {
  readonly name: string
  readonly what: string
}

/** An opened weight file of any format. */
export interface WeightFile {
  readonly format: WeightFormat
  readonly path: string
  readonly tensors: readonly StoredTensor[]
  /** Size of the file in bytes, unpacked if it is packed: imported networks take at most a multiple of it. */
  readonly heldBytes?: number
  /** Keras: the description of the model (JSON), which files of weights alone do not have. */
  readonly kerasModel?: unknown
  /** Keras: the version that wrote the file, if the file has one. */
  readonly kerasVersion?: string
  /** Keras: object names by path, if the file has them. */
  readonly kerasNames?: ReadonlyMap<string, string>
  /**
   * PyTorch and NumPy: objects of the file that are neither tensors nor plain containers: where they are and their class.
   * ONNX: recurrences without a recurrent operator: their matrix or loop, and the evidence in words.
   */
  readonly unread?: readonly UnreadValue[]
  /** ONNX: the graph and the functions of the model. */
  readonly onnx?: OnnxModel
  close(): Promise<void>
}

/** A weight file that `await using` closes. */
export interface OpenWeightFile extends WeightFile {
  /** Reads the tensor of that name. Rejects with `ERR_WEIGHTS_NOT_FOUND` or an error of `read`. */
  tensor(name: string): Promise<Tensor<FloatArray>>
  [Symbol.asyncDispose](): Promise<void>
}
