import {
  checkedElsewhere,
  checkOptions,
  integerIn,
  invalidOption,
  oneOf,
  optional,
  type OptionsOf,
} from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import {
  type HostBackend,
  HostMemory,
  type KernelExecutor,
  type KernelNetwork,
  type KernelRnn,
  MATRIX_FORMATS,
  openKernelBackend,
  WEIGHT_FORMATS,
  type WeightFormat,
} from '@cudnn-rnn/ops/executor'
import { GivenModule } from './given_module.js'
import { WASM_INSTRUCTION_SETS } from './instruction_set.js'
import type { LoadedModule, ModuleLoader } from './load_module.js'
import { WasmHeap } from './wasm_heap.js'
import { instantiate, instantiateWithThreads, type WasmInstance } from './wasm_instance.js'
import { WasmNetwork } from './wasm_network.js'
import { WasmQuantizedWeights, WasmTape } from './wasm_objects.js'
import { WasmOperations, wasmTensorKernels } from './wasm_operations.js'
import { WasmStepper } from './wasm_stepper.js'
import { defaultThreads, threadsRefused } from './wasm_threads.js'

/** The executor of browsers, and of machines without the native addon. */
export type WasmBackend = HostBackend<KernelRnn>

const ELEMENT_BYTES: Readonly<Record<FloatDType, number>> = { float32: 4, float64: 8 }

const ACTION = 'open the wasm backend'
const OPTIONS = {
  /** Element type of everything computed; default float32. */
  dtype: optional(oneOf(['float32', 'float64'])),
  /** How inference reads the matrices, default float32; as the option of the same name of the cpu executor. */
  weights: optional(oneOf(WEIGHT_FORMATS)),
  /**
   * Threads that compute, 1..256: the caller's and workers; default: half of the logical processors, at most 4. One if there
   * can be no workers over shared memory, as in a page that is not cross-origin isolated; `reason` names the number.
   */
  threads: optional(integerIn(1, 256)),
  /** Instruction set of the kernels; default: the best that the engine has. Results differ in their last bits. */
  instructionSet: optional(oneOf(WASM_INSTRUCTION_SETS)),
  /**
   * The kernels themselves, in place of those that are inlined in this package: one of `@cudnn-rnn/wasm/relaxed.wasm` and
   * `simd128.wasm`, for dtype float64 `relaxed_float64.wasm` and `simd128_float64.wasm`. A `URL`, which is fetched; a
   * `Response`; bytes in a `Uint8Array` or an `ArrayBuffer`; a promise of these; or a compiled `WebAssembly.Module`, for
   * workers of Cloudflare and Vercel, which compile nothing. A compiled module computes on one thread.
   */
  // By GivenModule, which names the accepted forms.
  module: checkedElsewhere<object | undefined>(),
}

/** Options of {@link openWasmBackend}. */
export interface WasmBackendOptions extends OptionsOf<typeof OPTIONS> {}

/** Opens the executor over the module of the options, or else over one that `load` finds. Throws as `openWasmBackend`. */
export async function openWasm(options: WasmBackendOptions, load: ModuleLoader): Promise<WasmBackend> {
  const {
    dtype = 'float32',
    weights = 'float32',
    threads,
    instructionSet: asked,
    module,
  } = checkOptions(ACTION, options, OPTIONS)
  if (weights !== 'float32' && dtype !== 'float32')
    throw invalidOption(ACTION, 'weights', 'float32 with dtype float64', weights)
  const given = module === undefined ? undefined : await GivenModule.read(module)
  const compile = (hasThreads: boolean) => given?.compile(hasThreads) ?? load(dtype, asked, hasThreads)
  const { instance, instructionSet } = await instanceOf(compile, threads, given?.shortage ?? '')
  if (instance.exports.elementBytes() !== ELEMENT_BYTES[dtype]) {
    instance.stop()
    throw invalidOption(ACTION, 'module', `one that computes in ${dtype}`, module)
  }
  const executor = createWasmExecutor(new WasmHeap(instance, dtype), dtype, weights)
  const suffix = weights === 'float32' ? '' : `, ${weights} weights`
  return openKernelBackend(executor, {
    name: 'wasm',
    reason: `wasm: ${instructionSet}, ${dtype}, ${describeThreads(instance)}${suffix}`,
    implementation: `wasm ${instructionSet}${suffix}`,
  })
}

/**
 * The module on as many of the `requested` threads as there can be here.
 *
 * @param refusal why the module has no threads; empty if it has.
 */
async function instanceOf(
  compile: (hasThreads: boolean) => Promise<LoadedModule>,
  requested: number | undefined,
  refusal: string,
): Promise<{ readonly instance: WasmInstance; readonly instructionSet: string }> {
  const threads = requested ?? defaultThreads()
  const shortage = threads === 1 ? '' : refusal === '' ? threadsRefused() : refusal
  const hasThreads = threads > 1 && shortage === ''
  const { module, instructionSet } = await compile(hasThreads)
  const instance = hasThreads ? await instantiateWithThreads(module, threads) : { ...instantiate(module), shortage }
  return { instance, instructionSet }
}

function describeThreads({ threads, shortage }: WasmInstance): string {
  return `${threads} ${threads === 1 ? 'thread' : 'threads'}${shortage === '' ? '' : ` (${shortage})`}`
}

/** The executor over `heap`; disposing its memory closes it. */
function createWasmExecutor(heap: WasmHeap, dtype: FloatDType, weightFormat: WeightFormat): KernelExecutor {
  const memory = new WasmMemory(dtype, heap)
  const operations = new WasmOperations(heap)
  return {
    ...{
      memory,
      weightFormat,
      operations,
      tensorKernels: wasmTensorKernels(operations),
      allocateResult: memory.allocate,
    },
    makeNetwork: (descriptor) => new WasmNetwork(heap, descriptor),
    makeTape: () => new WasmTape(heap),
    makeStepper: (network, batch) =>
      new WasmStepper(heap, network as WasmNetwork, batch, MATRIX_FORMATS.indexOf(weightFormat)),
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

/** The memory of tensors, beside the heap of the module; without a queue, as calls return when their operation is done. */
export class WasmMemory extends HostMemory {
  readonly #heap: WasmHeap

  constructor(dtype: FloatDType, heap: WasmHeap) {
    super(dtype)
    this.#heap = heap
  }

  /** Closes the heap. */
  override dispose(): void {
    if (this.life.ended) return
    super.dispose()
    this.#heap.close()
  }
}
