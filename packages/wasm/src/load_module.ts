import type { FloatDType } from '@cudnn-rnn/ops'
import { hasInstructionSet, WASM_INSTRUCTION_SETS, type WasmInstructionSet } from './instruction_set.js'
import { cannotBeLoaded, compileModule, unavailable } from './module_bytes.js'

/** A compiled module of the kernels. */
export interface LoadedModule {
  readonly module: WebAssembly.Module
  /** The name in `reason`. */
  readonly instructionSet: string
}

/** The exports of a file of @cudnn-rnn/native-wasm. */
interface ModuleText {
  readonly moduleBytes: string
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

export type ModuleLoader = (
  dtype: FloatDType,
  asked: WasmInstructionSet | undefined,
  hasThreads?: boolean,
) => Promise<LoadedModule>

/** A loader that compiles each module once. */
export function createModuleLoader(): ModuleLoader {
  const compiled = new Map<string, Promise<WebAssembly.Module>>()
  return async (dtype, asked, hasThreads = false) => {
    const instructionSet = WASM_INSTRUCTION_SETS.find(
      (set) => (asked === undefined || set === asked) && hasInstructionSet(set),
    )
    if (instructionSet === undefined) {
      const missing = asked ?? 'SIMD of WebAssembly'
      throw unavailable(`this engine has no ${missing}`, 'Use Chrome 91, Firefox 89, Safari 16.4, Node.js 20 or later.')
    }
    // WebAssembly's memory is little-endian, arrays over it are not: numbers would be others.
    if (new Uint8Array(Uint16Array.of(1).buffer)[0] !== 1) {
      throw unavailable('this processor is big-endian', 'Use the executor reference.')
    }
    const key = `${instructionSet} ${dtype} ${hasThreads}`
    let compiling = compiled.get(key)
    if (compiling === undefined) {
      compiling = bytesOf(MODULES[instructionSet][dtype]).then((bytes) => compileModule(bytes, hasThreads))
      compiled.set(key, compiling)
      // A failure may be of the moment: the next one tries again.
      compiling.catch(() => compiled.delete(key))
    }
    return { module: await compiling, instructionSet }
  }
}

/**
 * The kernels of `dtype` for `asked`, or for the best instruction set of this engine, from the files of this package. One loader
 * for each thread: the second executor opens without decoding anything.
 *
 * @param hasThreads whether the module takes a shared memory
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` if the engine lacks SIMD, or may not compile WebAssembly
 */
export const loadModule: ModuleLoader = createModuleLoader()

async function bytesOf(load: () => Promise<ModuleText>): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { moduleBytes } = await load()
    return await decode(moduleBytes)
  } catch (cause) {
    throw cannotBeLoaded(cause, 'Install @cudnn-rnn/wasm again. In the repository, npm run build makes its modules.')
  }
}

/** The bytes of a module that was compressed with gzip and written in base64. Nothing is fetched: a policy may forbid it. */
export async function decode(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Response(fromBase64(text)).body?.pipeThrough(new DecompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** In Chrome 140, Firefox 133, Safari 18.2, Node.js 25 and later. */
const { fromBase64: builtIn } = Uint8Array as { readonly fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (builtIn !== undefined) return builtIn.call(Uint8Array, text)
  const binary = atob(text)
  // Uint8Array.from() would call a function for each byte: 40 ms of the first step in a page.
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}
