import { BackendUnavailableError, type FloatDType } from '@cudnn-rnn/backend'
import { hasInstructionSet, WASM_INSTRUCTION_SETS, type WasmInstructionSet } from './instruction_set.js'

/** A compiled module of the kernels. */
export interface LoadedModule {
  readonly module: WebAssembly.Module
  readonly instructionSet: WasmInstructionSet
}

/** The exports of a file of @cudnn-rnn/native-wasm. */
interface ModuleText {
  readonly moduleBytes: string
  readonly memoryFlagsAt: number
}

// Four imports, so that a bundler makes four files of which a page loads one.
const MODULES: Readonly<Record<WasmInstructionSet, Readonly<Record<FloatDType, () => Promise<ModuleText>>>>> = {
  'relaxed-simd': {
    float32: () => import('@cudnn-rnn/native-wasm/relaxed'),
    float64: () => import('@cudnn-rnn/native-wasm/relaxed_float64'),
  },
  simd128: {
    float32: () => import('@cudnn-rnn/native-wasm/simd128'),
    float64: () => import('@cudnn-rnn/native-wasm/simd128_float64'),
  },
}

/** Compiled once in each thread: the second executor opens without decoding anything. */
const compiled = new Map<string, Promise<WebAssembly.Module>>()

/** Flags of a memory with a maximum that threads share. */
const SHARED_WITH_MAXIMUM = 3

/**
 * The kernels of `dtype` for `asked`, or for the best instruction set of this engine.
 *
 * @param hasThreads whether the module takes a shared memory
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` where the engine lacks SIMD, or may not compile WebAssembly
 */
export async function loadModule(
  dtype: FloatDType,
  asked: WasmInstructionSet | undefined,
  hasThreads = false,
): Promise<LoadedModule> {
  const instructionSet = WASM_INSTRUCTION_SETS.find(
    (set) => (asked === undefined || set === asked) && hasInstructionSet(set),
  )
  if (instructionSet === undefined) {
    const missing = asked ?? 'SIMD of WebAssembly'
    throw unavailable(`this engine has no ${missing}`, 'Use Chrome 91, Firefox 89, Safari 16.4, Node.js 20 or later.')
  }
  const key = `${instructionSet} ${dtype} ${hasThreads}`
  let compiling = compiled.get(key)
  if (compiling === undefined) {
    compiling = compile(MODULES[instructionSet][dtype], hasThreads)
    compiled.set(key, compiling)
    // A failure may be of the moment: the next one tries again.
    compiling.catch(() => compiled.delete(key))
  }
  return { module: await compiling, instructionSet }
}

async function compile(load: () => Promise<ModuleText>, hasThreads: boolean): Promise<WebAssembly.Module> {
  let bytes: Uint8Array<ArrayBuffer>
  try {
    const { moduleBytes, memoryFlagsAt } = await load()
    bytes = await decode(moduleBytes)
    if (hasThreads) bytes[memoryFlagsAt] = SHARED_WITH_MAXIMUM
  } catch (cause) {
    throw unavailable(`its module cannot be loaded: ${(cause as Error).message}`, REBUILD, cause)
  }
  try {
    return await WebAssembly.compile(bytes)
  } catch (cause) {
    throw unavailable(`this page may not compile WebAssembly: ${(cause as Error).message}`, CSP, cause)
  }
}

const REBUILD = 'Install @cudnn-rnn/wasm again. In the repository, npm run build makes its modules.'
const CSP =
  "Add 'wasm-unsafe-eval' to script-src of the Content-Security-Policy, or pass a compiled WebAssembly.Module as `module`."

/** The bytes of a module that was compressed with gzip and written in base64. Nothing is fetched: a policy may forbid it. */
export async function decode(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const compressed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  const stream = new Response(compressed).body?.pipeThrough(new DecompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

function unavailable(reason: string, advice: string, cause?: unknown): BackendUnavailableError {
  return new BackendUnavailableError('wasm', [{ name: 'wasm', reason }], advice, { cause })
}
