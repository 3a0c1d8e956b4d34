import type { FloatDType } from '@cudnn-rnn/backend'
import { checkOptionNames, describeValue } from '@cudnn-rnn/canonical'
import {
  type HostBackend,
  HostMemory,
  type KernelExecutor,
  type KernelNetwork,
  type KernelRnn,
  openKernelBackend,
  WEIGHT_FORMATS,
  type WeightFormat,
} from '@cudnn-rnn/executor-kit'
import { codedRangeError, codedTypeError } from './coded_error.js'
import { WASM_INSTRUCTION_SETS, type WasmInstructionSet } from './instruction_set.js'
import { loadModule } from './load_module.js'
import { WasmHeap } from './wasm_heap.js'
import { instantiate, instantiateWithThreads, type WasmInstance } from './wasm_instance.js'
import { WasmNetwork } from './wasm_network.js'
import { WasmQuantizedWeights, WasmTape } from './wasm_objects.js'
import { WasmOperations } from './wasm_operations.js'
import { WasmStepper } from './wasm_stepper.js'
import { defaultThreads, threadsRefused } from './wasm_threads.js'

export interface WasmBackendOptions {
  /** Element type of everything computed; default float32. */
  readonly dtype?: FloatDType | undefined
  /** How inference reads the matrices, default float32; as the option of the same name of the cpu executor. */
  readonly weights?: WeightFormat | undefined
  /**
   * Threads that compute, 1..256: the caller's and workers; default: half of the logical processors, at most 4. One where there
   * can be no workers over shared memory, as in a page that is not cross-origin isolated; `reason` names the number.
   */
  readonly threads?: number | undefined
  /** Instruction set of the kernels; default: the best that the engine has. Results differ in their last bits. */
  readonly instructionSet?: WasmInstructionSet | undefined
  /**
   * A `WebAssembly.Module` that was compiled elsewhere, where this thread may not compile the package's own: in workers of
   * Cloudflare and Vercel. Its bytes are those of this package's `dist/simd128.js` (gzip in base64), for dtype float64
   * those of `dist/simd128_float64.js`, written to a file by the build of the page. It computes on one thread.
   */
  readonly module?: object | undefined
}

/** The executor of browsers, and of machines without the native addon. */
export type WasmBackend = HostBackend<KernelRnn>

const MAX_THREADS = 256
const ELEMENT_BYTES: Readonly<Record<FloatDType, number>> = { float32: 4, float64: 8 }

const ACTION = 'open the wasm backend'
const OPTION_NAMES: readonly (keyof WasmBackendOptions)[] = ['dtype', 'weights', 'threads', 'instructionSet', 'module']

/**
 * Opens the WebAssembly executor: the kernels of the cpu executor on the calling thread and on workers. Every call
 * computes before it returns its promise.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` where the engine lacks SIMD, or may not compile WebAssembly
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export async function openWasmBackend(options: WasmBackendOptions = {}): Promise<WasmBackend> {
  checkOptionNames(ACTION, options, OPTION_NAMES)
  const dtype = options.dtype ?? 'float32'
  if (dtype !== 'float32' && dtype !== 'float64') refuse('dtype', 'float32 or float64', dtype)
  const weights = options.weights ?? 'float32'
  if (!WEIGHT_FORMATS.includes(weights)) refuse('weights', `one of ${WEIGHT_FORMATS.join(', ')}`, weights)
  if (weights !== 'float32' && dtype !== 'float32') refuse('weights', 'float32 with dtype float64', weights)
  const { threads } = options
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= MAX_THREADS)) {
    refuse('threads', `an integer in 1..${MAX_THREADS}`, threads)
  }
  const asked = options.instructionSet
  if (asked !== undefined && !WASM_INSTRUCTION_SETS.includes(asked)) {
    refuse('instructionSet', `one of ${WASM_INSTRUCTION_SETS.join(', ')}`, asked)
  }
  const { module: given } = options
  if (given !== undefined && Object.prototype.toString.call(given) !== '[object WebAssembly.Module]') {
    throw codedTypeError(
      'ERR_INVALID_OPTION_TYPE',
      `Cannot ${ACTION} as module must be a WebAssembly.Module: current value is ${describeValue(given)}`,
      { option: 'module', value: given },
    )
  }
  const modules = { given: given as WebAssembly.Module | undefined, dtype, asked }
  const { instance, instructionSet } = await instanceOf(modules, threads)
  if (instance.exports.elementBytes() !== ELEMENT_BYTES[dtype]) refuse('module', `one that computes in ${dtype}`, given)
  const executor = createWasmExecutor(new WasmHeap(instance, dtype), dtype, weights)
  const suffix = weights === 'float32' ? '' : `, ${weights} weights`
  return openKernelBackend(executor, {
    name: 'wasm',
    reason: `wasm: ${instructionSet}, ${dtype}, ${describeThreads(instance)}${suffix}`,
    implementation: `wasm ${instructionSet}${suffix}`,
  })
}

interface RequestedModule {
  readonly given: WebAssembly.Module | undefined
  readonly dtype: FloatDType
  readonly asked: WasmInstructionSet | undefined
}

/** The module on as many of the `requested` threads as there can be here. */
async function instanceOf(
  { given, dtype, asked }: RequestedModule,
  requested: number | undefined,
): Promise<{ readonly instance: WasmInstance; readonly instructionSet: string }> {
  const threads = requested ?? defaultThreads()
  const shortage = threads === 1 ? '' : given === undefined ? threadsRefused() : 'a given module has no threads'
  if (threads > 1 && shortage === '') {
    const { module, instructionSet } = await loadModule(dtype, asked, true)
    return { instance: await instantiateWithThreads(module, threads), instructionSet }
  }
  const loaded =
    given === undefined ? await loadModule(dtype, asked) : { module: given, instructionSet: 'given module' }
  return { instance: { ...instantiate(loaded.module), shortage }, instructionSet: loaded.instructionSet }
}

function describeThreads({ threads, shortage }: WasmInstance): string {
  return `${threads} ${threads === 1 ? 'thread' : 'threads'}${shortage === '' ? '' : ` (${shortage})`}`
}

/** The executor over `heap`; disposing its memory closes it. */
function createWasmExecutor(heap: WasmHeap, dtype: FloatDType, weightFormat: WeightFormat): KernelExecutor {
  const memory = new HostMemory(dtype, {
    failureCode: 'ERR_WASM_OPERATION',
    // Calls return when their operation is done, and hold no array afterwards.
    done: async () => undefined,
    pin: () => undefined,
    close: () => heap.close(),
  })
  return {
    ...{ memory, weightFormat, operations: new WasmOperations(heap), allocateResult: memory.allocate },
    makeNetwork: (descriptor) => new WasmNetwork(heap, descriptor),
    makeTape: () => new WasmTape(heap),
    makeStepper: (network, batch) => new WasmStepper(heap, network as WasmNetwork, batch, weightFormat === 'int8'),
    makeQuantizedWeights: () => new WasmQuantizedWeights(heap),
    moveRegions: (network: KernelNetwork, params, moves, into) => {
      const { address } = network as WasmNetwork
      heap.call('convert parameters', (frame, exports) => {
        const panels = into ? frame.update(params) : frame.read(params)
        for (const { canonical, pseudoLayer, side, gate, isBias } of moves) {
          if (canonical.length === 0) continue
          const tensor = into ? frame.read(canonical) : frame.write(canonical)
          exports.networkMoveRegion(address, panels, tensor, pseudoLayer, side, gate, Number(isBias), Number(into))
        }
      })
    },
  }
}

function refuse(option: string, rule: string, value: unknown): never {
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${ACTION} as ${option} must be ${rule}: current value is ${describeValue(value)}`,
    { option, value },
  )
}
