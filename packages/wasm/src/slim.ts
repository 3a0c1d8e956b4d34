/**
 * The executor without its modules, for pages that serve the .wasm files of this package themselves: a bundler then emits
 * one of them, not four inlined ones.
 *
 * @example
 * ```ts no-run
 * import { hasInstructionSet, openWasmBackend } from '@cudnn-rnn/wasm/slim'
 *
 * const url = hasInstructionSet('relaxed-simd')
 *   ? new URL('@cudnn-rnn/wasm/relaxed.wasm', import.meta.url)
 *   : new URL('@cudnn-rnn/wasm/simd128.wasm', import.meta.url)
 * const backend = await openWasmBackend({ module: fetch(url) })
 * console.log(backend.reason)
 * backend.dispose()
 * ```
 * @packageDocumentation
 */
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import { openWasm, type WasmBackend, type WasmBackendOptions } from './open_wasm.js'

export { hasInstructionSet, WASM_INSTRUCTION_SETS, type WasmInstructionSet } from './instruction_set.js'
export type { WasmBackend, WasmBackendOptions } from './open_wasm.js'

/** Options of the slim entry: `@cudnn-rnn/wasm`'s, with a module. */
export interface SlimBackendOptions extends WasmBackendOptions {
  readonly module: object
}

/**
 * Opens the WebAssembly executor over a module of the page. Throws as `openWasmBackend` of `@cudnn-rnn/wasm`.
 *
 * @throws TypeError `ERR_INVALID_OPTION_TYPE` without a module
 * @example
 * ```ts no-run
 * import { openWasmBackend } from '@cudnn-rnn/wasm/slim'
 *
 * const backend = await openWasmBackend({ module: fetch('/assets/simd128.wasm'), threads: 2 })
 * backend.dispose()
 * ```
 */
export async function openWasmBackend(options: SlimBackendOptions): Promise<WasmBackend> {
  return openWasm(options, () => {
    throw codedTypeError(
      'ERR_INVALID_OPTION_TYPE',
      'Cannot open the wasm backend as module must be given to @cudnn-rnn/wasm/slim: current value is undefined',
      { option: 'module', value: undefined },
    )
  })
}
