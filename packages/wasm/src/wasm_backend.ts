import { loadModule } from './load_module.js'
import { openWasm, type WasmBackend, type WasmBackendOptions } from './open_wasm.js'

/**
 * Opens the WebAssembly executor: the kernels of the cpu executor on the calling thread and on workers. Every call
 * computes before it returns its promise.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` where the engine lacks SIMD, or may not compile WebAssembly, or
 *   where `module` cannot be fetched
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export function openWasmBackend(options: WasmBackendOptions = {}): Promise<WasmBackend> {
  return openWasm(options, loadModule)
}
