import type { FloatArray } from '@cudnn-rnn/canonical'
import { HostTensor } from '../host/host_tensor.js'
import type { RnnPassSizes } from '../arguments/rnn_arguments.js'
import type { KernelNetwork, KernelQuantizedWeights } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'
import { MATRIX_FORMATS, type MatrixFormat } from './weight_format.js'

/**
 * Products with fewer multiply-adds in a step of one layer are not faster in bfloat16 and int8, as rows are rounded for them:
 * LSTM and GRU 1 × 50 and RNN tanh 1 × 100 took 1.04 to 1.13 of the time of float32. Training rounds the weights too.
 */
const LEAST_STEP = 1 << 15
const LEAST_TRAINED = { step: 2 * LEAST_STEP, rows: 32 }

/** Quantized weights, and the number of the operation that fills them. */
export interface QuantizedParams {
  readonly weights: KernelQuantizedWeights
  readonly job: number
}

/**
 * Which passes of one network read its parameters in fewer bits, and the quantized copies of these: made when first needed and
 * again when a tensor was overwritten.
 */
export class QuantizedParamsCache {
  readonly #executor: KernelExecutor
  readonly #network: KernelNetwork
  /** Parameters of a layer in one direction. */
  readonly #layerSize: number
  readonly #made = new WeakMap<HostTensor, QuantizedParams & { readonly version: number }>()

  /** @param layers of both directions. */
  constructor(executor: KernelExecutor, network: KernelNetwork, layers: number) {
    this.#executor = executor
    this.#network = network
    this.#layerSize = network.paramsSize() / layers
  }

  /** Whether a training pass rounds the factors of its products. */
  isRounded({ time, batch }: RnnPassSizes): boolean {
    const { weightFormat, leavesSmall = false } = this.#executor
    const isSmall = time * batch < LEAST_TRAINED.rows || batch * this.#layerSize < LEAST_TRAINED.step
    return weightFormat === 'bfloat16_products' && !(leavesSmall && isSmall)
  }

  /**
   * The quantized copy of `params`, or null if passes of `batch` rows read the parameters themselves.
   *
   * @param key the argument: a host tensor is converted at every call, because its contents may change unnoticed.
   */
  of(key: unknown, params: FloatArray, batch: number): QuantizedParams | null {
    const { weightFormat, leavesSmall, operations, makeQuantizedWeights } = this.#executor
    if (weightFormat === 'float32' || (leavesSmall && batch * this.#layerSize < LEAST_STEP)) return null
    const made = key instanceof HostTensor ? this.#made.get(key) : undefined
    if (made !== undefined && made.version === (key as HostTensor).version) return made
    const weights = makeQuantizedWeights(sharedKey(key, weightFormat))
    const job = operations.quantize({
      network: this.#network,
      params,
      quantized: weights,
      format: MATRIX_FORMATS.indexOf(weightFormat),
    })
    const quantized = { weights, job, version: key instanceof HostTensor ? key.version : 0 }
    if (key instanceof HostTensor) this.#made.set(key, quantized)
    return quantized
  }
}

/** The name under which all threads find one quantized copy of shared parameters. */
function sharedKey(key: unknown, weightFormat: MatrixFormat): string | undefined {
  if (!(key instanceof HostTensor) || key.sharedId === undefined) return undefined
  return `${key.sharedId} ${key.layout} ${weightFormat}`
}
