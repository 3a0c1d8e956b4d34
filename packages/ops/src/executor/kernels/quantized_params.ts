import type { FloatArray } from '@cudnn-rnn/canonical'
import { HostTensor } from '../host/host_tensor.js'
import type { KernelNetwork, KernelQuantizedWeights } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'
import { MATRIX_FORMATS, type MatrixFormat } from './weight_format.js'

/** Quantized weights, and the number of the operation that fills them. */
export interface QuantizedParams {
  readonly weights: KernelQuantizedWeights
  readonly job: number
}

/** The quantized copies of one network's parameters: made when first needed and again when a tensor was overwritten. */
export class QuantizedParamsCache {
  readonly #executor: KernelExecutor
  readonly #network: KernelNetwork
  readonly #made = new WeakMap<HostTensor, QuantizedParams & { readonly version: number }>()

  constructor(executor: KernelExecutor, network: KernelNetwork) {
    this.#executor = executor
    this.#network = network
  }

  /**
   * The quantized copy of `params`, or null if the executor reads the parameters themselves.
   *
   * @param key the argument: a host tensor is converted at every call, because its contents may change unnoticed.
   */
  of(key: unknown, params: FloatArray): QuantizedParams | null {
    const { weightFormat, operations, makeQuantizedWeights } = this.#executor
    if (weightFormat === 'float32') return null
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
