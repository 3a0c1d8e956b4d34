/**
 * The fast executor for machines without a GPU: C++ kernels for AVX-512, AVX2, NEON and any other processor, on a pool of
 * threads, with the parameters kept in the layout that the kernels stream through.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor } from '@cudnn-rnn/rnn/canonical'
 * import { openCpuBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openCpuBackend({ threads: 2 })
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
export { type CpuBackend, type CpuBackendOptions, openCpuBackend } from './cpu_backend.js'
export { INSTRUCTION_SETS, type InstructionSet } from './instruction_set.js'
