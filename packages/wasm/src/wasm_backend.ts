import { loadModule } from './load_module.js'
import { openWasm, type WasmBackend, type WasmBackendOptions } from './open_wasm.js'

/**
 * Opens the WebAssembly executor: the kernels of the cpu executor on the calling thread and on workers. Every call
 * computes before it returns its promise.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` if the engine lacks SIMD, or may not compile WebAssembly, or
 *   if `module` cannot be fetched
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openWasmBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = await openWasmBackend({ threads: 1 })
 * const x = backend.tensor({ data: Float32Array.of(1, 2), shape: [2] })
 * backend.ops.accumulate(x, { data: Float32Array.of(10, 10), shape: [2] })
 * console.log(backend.name, await x.data()) // wasm [11, 12]
 * backend.dispose()
 * ```
 */
export function openWasmBackend(options: WasmBackendOptions = {}): Promise<WasmBackend> {
  return openWasm(options, loadModule)
}
