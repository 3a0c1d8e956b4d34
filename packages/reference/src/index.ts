/**
 * The readable executor: recurrent networks in plain TypeScript, `LSTMBlockFusedCell`-style, in float32 and float64. It
 * runs in Node.js and in browsers, and every other executor is tested against it.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor } from '@cudnn-rnn/rnn/canonical'
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend()
 * const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 2 }))
 * const { outputH } = await rnn.forward({
 *   input: { data: new Float32Array(6).fill(1), shape: [3, 1, 2] },
 *   inputH: null,
 *   inputC: null,
 *   params: { data: new Float32Array(rnn.paramsSize).fill(0.1), shape: [rnn.paramsSize] },
 *   sequenceLengths: null,
 *   training: false,
 * })
 * console.log(await outputH.data())
 * ```
 * @packageDocumentation
 */

export {
  openReferenceBackend,
  type ReferenceBackend,
  type ReferenceBackendOptions,
} from './reference_backend.js'
