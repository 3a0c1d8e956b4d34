import { canonicalToTensorflow, elementCount } from '@cudnn-rnn/canonical'
import { CudnnGRUSaveable, CudnnLSTMSaveable, CudnnRNNReluSaveable, CudnnRNNTanhSaveable } from '../src/index.js'
import type { build, MODELS } from './small_models.js'

// The saving scenarios of TensorFlow's own tests, and problems of users of tf.contrib.cudnn_rnn, by name.

export type Run = ReturnType<typeof build>
export type Mode = keyof typeof MODELS
export const SAVEABLES = {
  CudnnLSTM: CudnnLSTMSaveable,
  CudnnGRU: CudnnGRUSaveable,
  CudnnRNNRelu: CudnnRNNReluSaveable,
  CudnnRNNTanh: CudnnRNNTanhSaveable,
}

export const cells = (mode: Mode, { model, params }: Run, scope?: string, name?: string) =>
  new SAVEABLES[mode](model.paramsToCanonical, model.canonicalToParams, [params], { scope, name })

export const waves = (...shape: number[]) => {
  const length = elementCount(shape)
  return { data: Float32Array.from({ length }, (_, index) => Math.sin(index + length)), shape }
}

/** Weights as they are, biases as sums of both sides, which is all that TensorFlow's cells hold. */
export async function cellValues({ model, params }: Run) {
  const variables = canonicalToTensorflow(model.descriptor, await model.paramsToCanonical(params))
  return variables.map((cell) => Object.entries(cell).map(([name, { data }]) => [name, [...data]]))
}
