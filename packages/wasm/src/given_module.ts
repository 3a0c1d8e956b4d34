import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { LoadedModule } from './load_module.js'
import { cannotBeLoaded, compileModule, unavailable } from './module_bytes.js'

/** The option `module`: it, or a promise of it. */
const KINDS = 'a WebAssembly.Module, a Response, a URL, a Uint8Array or an ArrayBuffer'
const ACTION = 'open the wasm backend'
const FETCH_ADVICE = 'Serve one of the .wasm files of @cudnn-rnn/wasm where `module` points to.'

/** Exports that only the modules of this package have. */
const EXPORTS_OF_OURS = ['elementBytes', 'stepperNew', '_initialize']

/** The option `module` of a page. */
export class GivenModule {
  /** Why it computes on one thread; empty if its bytes are known, in which a memory becomes a shared one. */
  readonly shortage: string
  readonly #source: WebAssembly.Module | Uint8Array<ArrayBuffer>

  private constructor(source: WebAssembly.Module | Uint8Array<ArrayBuffer>) {
    this.#source = source
    this.shortage = isModule(source) ? 'a compiled module has no threads' : ''
  }

  /**
   * Reads the option: an address is fetched, the body of a response read.
   *
   * @throws TypeError `ERR_INVALID_OPTION_TYPE`; BackendUnavailableError if the server has no such file, or the engine
   *   does not take the module
   */
  static async read(option: unknown): Promise<GivenModule> {
    const source = await sourceOf(await settled(option))
    if (!isModule(source) && !(typeof WebAssembly === 'object' && WebAssembly.validate(source))) {
      const advice =
        "Ask hasInstructionSet('relaxed-simd') before you choose relaxed.wasm; simd128.wasm runs in every engine with SIMD."
      throw unavailable('`module` is no WebAssembly that this engine can run', advice)
    }
    return new GivenModule(source)
  }

  /** @throws RangeError `ERR_INVALID_OPTION` for a module of something else */
  async compile(hasThreads: boolean): Promise<LoadedModule> {
    const source = this.#source
    const module = isModule(source) ? source : await compileModule(source, hasThreads)
    const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name))
    if (EXPORTS_OF_OURS.every((name) => names.has(name))) return { module, instructionSet: 'given module' }
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot ${ACTION} as module must be one of the .wasm files of @cudnn-rnn/wasm: current module exports ${[...names].slice(0, 5).join(', ') || 'nothing'}`,
      { option: 'module', value: module },
    )
  }
}

async function settled(option: unknown): Promise<unknown> {
  if (!(option instanceof Promise)) return option
  return option.catch((cause: unknown) => {
    throw cannotBeLoaded(cause, FETCH_ADVICE)
  })
}

async function sourceOf(value: unknown): Promise<WebAssembly.Module | Uint8Array<ArrayBuffer>> {
  // A separate boolean: the type of a module has no members, so that its guard would narrow all others away.
  const isCompiled: boolean = isModule(value)
  if (isCompiled) return value as WebAssembly.Module
  // A copy, in which a byte may change. A buffer that was transferred has no bytes.
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (value instanceof ArrayBuffer) return value.byteLength === 0 ? new Uint8Array() : new Uint8Array(value.slice())
  if (!isUrl(value) && !isResponse(value)) {
    throw codedTypeError(
      'ERR_INVALID_OPTION_TYPE',
      `Cannot ${ACTION} as module must be ${KINDS}, or a promise of one: current value is ${describeValue(value)}`,
      { option: 'module', value },
    )
  }
  try {
    const response = isUrl(value) ? await fetch(value) : value
    if (!response.ok) throw new Error(`the server answered ${response.status}`)
    return new Uint8Array(await response.arrayBuffer())
  } catch (cause) {
    throw cannotBeLoaded(cause, FETCH_ADVICE)
  }
}

function isModule(value: unknown): value is WebAssembly.Module {
  return tagOf(value) === 'WebAssembly.Module'
}

function isUrl(value: unknown): value is URL {
  return value instanceof URL
}

function isResponse(value: unknown): value is Response {
  return tagOf(value) === 'Response' && typeof (value as Response).arrayBuffer === 'function'
}

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1)
}
