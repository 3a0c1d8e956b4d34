import {
  type Backend,
  type BackendStats,
  type BackendTensor,
  BackendUnavailableError,
  checkIsHostTensor,
  type FloatDType,
  tensorDType,
} from '@cudnn-rnn/backend'
import {
  checkOptionNames,
  codedRangeError,
  codedTypeError,
  type FloatArray,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { CpuDenseOps } from './cpu_dense_ops.js'
import { CpuMemory } from './cpu_memory.js'
import { CpuRnn } from './cpu_rnn.js'
import { CpuTensor } from './cpu_tensor.js'
import { loadAddon } from './load_addon.js'
import type { NativeAddon } from './native_addon.js'
import { WEIGHT_FORMATS, type WeightFormat } from './weight_format.js'

const MAX_THREADS = 256

const ADVICE =
  'Install optional dependencies too: the addon is one. In the repository, npm run build:native builds it where a C++ compiler and CMake are.'

export interface CpuBackendOptions {
  /** Element type of everything computed; default float32. */
  readonly dtype?: FloatDType | undefined
  /** Threads that compute, 1..256; default: physical cores. */
  readonly threads?: number | undefined
  /** Instruction set of the kernels, "AVX-512 VNNI", "AVX-512", "AVX2", "NEON" or "portable"; default: the best this processor has. */
  readonly isa?: string | undefined
  /**
   * How inference reads the matrices, default float32: copies in bfloat16 or int8 (one scale per unit and gate) are made
   * when parameters are first used and again after they changed. Training computes in float32 whatever this says.
   */
  readonly weights?: WeightFormat | undefined
}

/**
 * Opens the CPU executor: C++ kernels on a pool of threads.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` where the native addon cannot be loaded
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export function openCpuBackend(options: CpuBackendOptions = {}): CpuBackend {
  checkOptionNames('open the cpu backend', options, ['dtype', 'threads', 'isa', 'weights'])
  const dtype = options.dtype ?? 'float32'
  if (dtype !== 'float32' && dtype !== 'float64') refuse('dtype', 'float32 or float64', dtype)
  const threads = options.threads
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= MAX_THREADS)) {
    refuse('threads', `an integer in 1..${MAX_THREADS}`, threads)
  }
  const weights = options.weights ?? 'float32'
  if (!WEIGHT_FORMATS.includes(weights)) refuse('weights', `one of ${WEIGHT_FORMATS.join(', ')}`, weights)
  if (weights !== 'float32' && dtype !== 'float32') refuse('weights', 'float32 with dtype float64', weights)
  const { addon, attempts } = loadAddon()
  if (addon === undefined) throw new BackendUnavailableError('cpu', attempts, ADVICE)
  const isas = addon.supportedIsas()
  const isa = options.isa ?? isas[0]!
  if (!isas.includes(isa)) refuse('isa', `one that this processor has (${isas.join(', ')})`, isa)
  return new CpuBackend(addon, dtype, isa, threads ?? addon.physicalCores(), weights)
}

/** The fast executor of machines without a GPU. */
export class CpuBackend implements Backend {
  readonly name = 'cpu'
  readonly reason: string
  readonly dtype: FloatDType
  readonly ops: CpuDenseOps
  readonly #memory: CpuMemory

  constructor(addon: NativeAddon, dtype: FloatDType, isa: string, threads: number, weights: WeightFormat) {
    this.dtype = dtype
    this.reason = `cpu: ${isa}, ${dtype}, ${threads} ${threads === 1 ? 'thread' : 'threads'}${weights === 'float32' ? '' : `, ${weights} weights`}`
    this.#memory = new CpuMemory(addon, new addon.NativeExecutor(isa, threads, dtype === 'float64'), dtype, weights)
    this.ops = new CpuDenseOps(this.#memory)
  }

  tensor(host: Tensor): CpuTensor {
    const action = 'make a tensor'
    this.#memory.checkAlive(action)
    checkIsHostTensor(action, 'host', host)
    const dtype = tensorDType(host)
    if (dtype !== this.dtype && dtype !== 'int32') {
      throw codedTypeError(
        'ERR_DTYPE',
        `Cannot make a tensor as this executor holds ${this.dtype} and int32: current type is ${host.data.constructor.name}`,
        { argument: 'host', expected: this.dtype, actual: host.data.constructor.name },
      )
    }
    if (dtype === 'int32') return this.#memory.create(host.shape, host.data.slice())
    const data = this.#memory.allocate(host.data.length)
    data.set(host.data as FloatArray)
    return this.#memory.create(host.shape, data)
  }

  zeros(shape: readonly number[], options: { readonly layout?: string | undefined } = {}): CpuTensor {
    const action = 'make a tensor of zeros'
    this.#memory.checkAlive(action)
    if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
      throw codedRangeError(
        'ERR_SHAPE',
        `Cannot ${action} as every dimension must be an integer >= 0: current shape is [${shape.join(',')}]`,
        { actual: shape },
      )
    }
    return this.#memory.create(shape, undefined, options.layout)
  }

  owns(tensor: BackendTensor): boolean {
    return tensor instanceof CpuTensor && tensor.memory === this.#memory
  }

  rnn(descriptor: RnnDescriptor): CpuRnn {
    this.#memory.checkAlive('prepare a network')
    return new CpuRnn(this.#memory, descriptor)
  }

  stats(): BackendStats {
    return this.#memory.ledger.snapshot()
  }

  dispose(): void {
    this.#memory.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

function refuse(option: string, rule: string, value: unknown): never {
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot open the cpu backend as ${option} must be ${rule}: current value is ${String(value)}`,
    { option, value },
  )
}
