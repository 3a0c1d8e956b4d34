import type { Backend } from '@cudnn-rnn/ops'
import { checkIsBackend } from '@cudnn-rnn/ops/executor'
import { type ImportOptions, importWeights, type WeightFile, type WeightInput } from '@cudnn-rnn/interop'
import { type ModelFromNetwork, modelFromNetwork } from './model_from_network.js'

/**
 * The recurrent network of a weight file as a model with its parameters: `importWeights`, then {@link modelFromNetwork}. The
 * option `only` chooses one of several networks by name. Networks that only a cell computes, and other tensors of the file, come
 * from `importWeights`.
 *
 * @param file a path, bytes or a Blob, of PyTorch, Keras, ONNX, TensorFlow, Flax, safetensors or NumPy
 * @throws WeightFileError `ERR_WEIGHTS_NOT_FOUND` unless one network is left; the errors of `importWeights` and `modelFromNetwork`
 * @example
 * ```ts
 * import { loadNetwork, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('auto')
 * const { model, params } = await loadNetwork(backend, '../fixtures/interop/guide/sine.pt')
 * const { output, state } = await model.run(params, { data: new Float32Array(20), shape: [20, 1, 1] }) // [T,B,I]
 * console.log(output.shape, state.h.shape) // [20, 1, 8] [1, 1, 8]
 * backend.dispose()
 * ```
 */
export async function loadNetwork(
  backend: Backend,
  file: WeightInput | WeightFile,
  options: ImportOptions = {},
): Promise<ModelFromNetwork> {
  checkIsBackend('load a network', backend)
  return modelFromNetwork(backend, (await importWeights(file, options)).network())
}
