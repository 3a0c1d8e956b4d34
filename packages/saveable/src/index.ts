/**
 * Saving recurrent networks in TensorFlow's checkpoints, in canonical form. Every executor restores them.
 * This package depends on names and orders, not on executors.
 *
 * @example
 * ```ts
 * import { mkdtemp } from 'node:fs/promises'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 * import { CudnnGRU, openBackend, RNNParamsSaveable, Saver } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = gru.createParams({ seed: 1 })
 * const saver = new Saver([new RNNParamsSaveable(gru.paramsToCanonical, gru.canonicalToParams, [params], 'encoder')])
 * const prefix = await saver.save(join(await mkdtemp(join(tmpdir(), 'run-')), 'model'), { globalStep: 100 })
 * await saver.restore(prefix)
 * ```
 * @packageDocumentation
 */

export { type ConvertOptions, convertCheckpoint } from './convert_checkpoint.js'
export { type DetectedNetwork, detectedToCanonical, detectNetworks } from './detect_networks.js'
export {
  CudnnGRUSaveable,
  CudnnLSTMSaveable,
  CudnnRNNReluSaveable,
  CudnnRNNTanhSaveable,
} from './opaque_params_saveables.js'
export type { ParamVariable } from './param_variable.js'
export {
  CudnnParamsFormatConverterGRU,
  CudnnParamsFormatConverterLSTM,
  CudnnParamsFormatConverterRelu,
  CudnnParamsFormatConverterTanh,
} from './params_format_converters.js'
export { RestoreError } from './restore_error.js'
export { RNNParamsSaveable } from './rnn_params_saveable.js'
export type { Naming, NumericTensor, Saveable } from './saveable.js'
export { Saver } from './saver.js'
export type { StorageForm } from './storage_form.js'
export { TensorSaveable } from './tensor_saveable.js'
