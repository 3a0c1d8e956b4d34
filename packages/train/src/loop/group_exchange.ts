import type { Backend, BackendTensor, DeviceGroup } from '@cudnn-rnn/ops'
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

/** Passes variables and gradients between devices that are connected, without the host. */
export class GroupExchange implements DeviceExchange {
  readonly engine: 'nccl'
  readonly reason: string
  readonly #devices: readonly Backend[]
  readonly #group: DeviceGroup
  #copied: Promise<void> = Promise.resolve()

  constructor(devices: readonly Backend[], group: DeviceGroup) {
    this.engine = group.engine
    this.reason = group.reason
    this.#devices = devices
    this.#group = group
  }

  /** Every device takes part: also one without a share adds to the sums, and NCCL waits for all. */
  async copy(variables: readonly (readonly Trainable[])[]): Promise<void> {
    this.#copied = this.#group.broadcast(variables.map((own) => own.map(({ value }) => value)))
    // The passes that follow are queued behind it; an error is the mean's.
    this.#copied.catch(() => {})
  }

  async mean(variables: readonly (readonly Trainable[])[], results: readonly ShareResult[]): Promise<BatchResult> {
    const weight = totalWeight(results)
    const loss = meanOfNumbers(results)
    const sums: BackendTensor[][] = this.#devices.map(() => [])
    const dispose = (of: readonly (readonly BackendTensor[])[]) => {
      for (const tensors of of) for (const tensor of tensors) tensor.dispose()
    }
    try {
      for (const [rank, backend] of this.#devices.entries()) {
        const own = sums[rank]
        for (const { value } of variables[rank]) own.push(backend.zeros(value.shape, { layout: value.layout }))
        if (loss === undefined) own.push(backend.zeros([]))
        const result = results.find((each) => each.rank === rank)
        // A share that does not count may be NaN.
        if (result === undefined || result.weight === 0) continue
        const shares = loss === undefined ? [...result.gradients, lossTensor(backend, result)] : result.gradients
        for (const [index, share] of shares.entries()) {
          await addScaled(backend, own[index], share, result.weight / weight)
        }
      }
      await this.#copied
      // Awaited: after an error of NCCL the sums are undefined, and no update may use them.
      await this.#group.sum(sums)
    } catch (error) {
      dispose(sums)
      throw error
    }
    const [first, ...others] = sums as [BackendTensor[], ...BackendTensor[][]]
    dispose(others)
    const count = variables[0].length
    return { loss: loss ?? first[count], gradients: first.slice(0, count), weight }
  }

  close(): Promise<void> {
    return this.#group.close()
  }
}
