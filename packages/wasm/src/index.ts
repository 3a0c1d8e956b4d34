/**
 * The kernels of the cpu executor as WebAssembly with SIMD: for browsers, and for Node.js, Deno and Bun if there is no
 * native addon. One module is loaded, for relaxed SIMD or for simd128.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor } from '@cudnn-rnn/rnn/canonical'
 * import { openWasmBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = await openWasmBackend()
 * const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 2 }))
 * const { outputH } = await rnn.forward({
 *   input: { data: new Float32Array(6).fill(1), shape: [3, 1, 2] },
 *   inputH: null,
 *   inputC: null,
 *   params: backend.zeros([rnn.paramsSize]),
 *   sequenceLengths: null,
 *   training: false,
 * })
 * console.log(backend.reason, await outputH.data())
 * backend.dispose()
 * ```
 * @packageDocumentation
 */
export type { WeightFormat } from '@cudnn-rnn/ops/executor'
export { hasInstructionSet, WASM_INSTRUCTION_SETS, type WasmInstructionSet } from './instruction_set.js'
export type { WasmBackend, WasmBackendOptions } from './open_wasm.js'
export { openWasmBackend } from './wasm_backend.js'
