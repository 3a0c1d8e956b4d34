import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import { BackendUnavailableError } from '@cudnn-rnn/ops'
import { findMemoryFlags, SHARED_WITH_MAXIMUM } from '@cudnn-rnn/native-wasm/memory_flags'

const CSP =
  "Add 'wasm-unsafe-eval' to script-src of the Content-Security-Policy, or pass a compiled WebAssembly.Module as `module`."

/**
 * Compiles a module of this package.
 *
 * @param bytes may be changed.
 * @param hasThreads whether the module takes a shared memory, which one byte of it states. A module without a memory stays as it is.
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` if the page may not compile WebAssembly
 */
export async function compileModule(bytes: Uint8Array<ArrayBuffer>, hasThreads: boolean): Promise<WebAssembly.Module> {
  const memoryFlagsAt = hasThreads ? findMemoryFlags(bytes) : undefined
  if (memoryFlagsAt !== undefined) bytes[memoryFlagsAt] = SHARED_WITH_MAXIMUM
  try {
    return await WebAssembly.compile(bytes)
  } catch (cause) {
    throw unavailable('this page may not compile WebAssembly', `${CSP} (${(cause as Error).message})`, cause)
  }
}

export function cannotBeLoaded(cause: unknown, advice: string): BackendUnavailableError {
  return unavailable(`its module cannot be loaded: ${thrownMessage(cause)}`, advice, cause)
}

export function unavailable(reason: string, advice: string, cause?: unknown): BackendUnavailableError {
  return new BackendUnavailableError('wasm', [{ name: 'wasm', reason }], advice, { cause })
}
