import type { FloatArray } from '@cudnn-rnn/canonical'
import { HostTensor } from '@cudnn-rnn/executor-kit'
import type { CpuExecutor } from './cpu_executor.js'
import type { NativeNarrowWeights, NativeNetwork } from './native_addon.js'

/** Narrow weights, and the number of the operation that fills them. */
export interface NarrowParams {
  readonly weights: NativeNarrowWeights
  readonly job: number
}

/** The narrow copies of one network's parameters: made when first needed and again when a tensor was overwritten. */
export class NarrowParamsCache {
  readonly #executor: CpuExecutor
  readonly #network: NativeNetwork
  readonly #made = new WeakMap<HostTensor, NarrowParams & { readonly version: number }>()

  constructor(executor: CpuExecutor, network: NativeNetwork) {
    this.#executor = executor
    this.#network = network
  }

  /**
   * The narrow copy of `params`, or null where the executor reads the parameters themselves.
   *
   * @param key the tensor as given: a host tensor is converted every time, as nobody would notice a change.
   */
  of(key: unknown, params: FloatArray): NarrowParams | null {
    const { weightFormat, addon, native } = this.#executor
    if (weightFormat === 'float32') return null
    const made = key instanceof HostTensor ? this.#made.get(key) : undefined
    if (made !== undefined && made.version === (key as HostTensor).version) return made
    const weights = new addon.NativeNarrowWeights()
    const job = native.narrow({ network: this.#network, params, narrow: weights, int8: weightFormat === 'int8' })
    const narrow = { weights, job, version: key instanceof HostTensor ? key.version : 0 }
    if (key instanceof HostTensor) this.#made.set(key, narrow)
    return narrow
  }
}
