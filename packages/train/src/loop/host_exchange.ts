import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import type { Trainable } from '../optimizers/trainable.js'
import {
  addScaled,
  type DeviceExchange,
  lossTensor,
  meanOfNumbers,
  type ShareResult,
  totalWeight,
} from './device_exchange.js'
import type { BatchResult } from './gradient_accumulator.js'

/** Passes variables and gradients through memory of the host, between executors of any kind. */
export class HostExchange implements DeviceExchange {
  readonly engine = 'host'
  readonly reason: string
  readonly #devices: readonly Backend[]

  constructor(devices: readonly Backend[], reason: string) {
    this.#devices = devices
    this.reason = `host: ${reason}`
  }

  async copy(variables: readonly (readonly Trainable[])[], ranks: readonly number[]): Promise<void> {
    if (ranks.every((rank) => rank === 0)) return
    const values = await Promise.all(variables[0].map(({ value }) => value.read()))
    for (const rank of ranks) {
      if (rank === 0) continue
      for (const [index, { value }] of variables[rank].entries()) {
        this.#devices[rank].ops.assign(value, values[index])
      }
    }
  }

  async mean(variables: readonly (readonly Trainable[])[], results: readonly ShareResult[]): Promise<BatchResult> {
    const backend = this.#devices[0]
    const weight = totalWeight(results)
    // A share that does not count may be NaN.
    const counted = results.filter((result) => result.weight > 0)
    const made: BackendTensor[] = []
    const mean = async (
      shape: readonly number[],
      layout: string | undefined,
      of: (result: ShareResult) => TensorLike,
    ) => {
      const sum = backend.zeros(shape, { layout })
      made.push(sum)
      for (const result of counted) await addScaled(backend, sum, of(result), result.weight / weight)
      return sum
    }
    try {
      const gradients: BackendTensor[] = []
      for (const [index, { value }] of variables[0].entries()) {
        gradients.push(await mean(value.shape, value.layout, ({ gradients }) => gradients[index]))
      }
      const loss = meanOfNumbers(results) ?? (await mean([], undefined, (result) => lossTensor(backend, result)))
      return { loss, gradients, weight }
    } catch (error) {
      for (const tensor of made) tensor.dispose()
      throw error
    }
  }

  async close(): Promise<void> {}
}
