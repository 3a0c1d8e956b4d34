import {
  type Backend,
  type BackendTensor,
  type DeviceGroup,
  DTYPES,
  isBackendTensor,
  type TensorLike,
} from '@cudnn-rnn/ops'
import type { Trainable } from '../optimizers/trainable.js'
import type { BatchResult } from './gradient_accumulator.js'

/** The result of one device for its share of a batch. */
export interface ShareResult extends BatchResult {
  readonly rank: number
  /** In the mean; 0 for a share that does not count, whose numbers may be NaN. */
  readonly weight: number
}

/** How variables and gradients pass between the devices of one process. `variables[d]` are device `d`'s. */
export interface DeviceExchange {
  readonly engine: 'nccl' | 'host'
  /** Why this engine, for people. */
  readonly reason: string
  /** Copies the variables of the first device to the others; `ranks` are the devices that use them next. */
  copy(variables: readonly (readonly Trainable[])[], ranks: readonly number[]): Promise<void>
  /** The means of loss and gradients by the weights of the shares, new tensors of the first device. */
  mean(variables: readonly (readonly Trainable[])[], results: readonly ShareResult[]): Promise<BatchResult>
  /** Frees the resources of the exchange. Idempotent. */
  close(): Promise<void>
}

function totalWeight(results: readonly ShareResult[]): number {
  return results.reduce((sum, { weight }) => sum + weight, 0)
}

/** The mean of losses that are all numbers; undefined if one is a tensor. */
export function meanOfNumbers(results: readonly ShareResult[]): number | undefined {
  const weight = totalWeight(results)
  let mean = 0
  for (const { loss, weight: share } of results) {
    if (share === 0) continue
    if (typeof loss !== 'number') return undefined
    mean += (share / weight) * loss
  }
  return mean
}

function lossTensor(backend: Backend, { loss }: BatchResult): TensorLike {
  if (typeof loss !== 'number') return loss
  return { data: DTYPES[backend.dtype].array.of(loss), shape: [] }
}

/** Adds `factor` times a tensor of any executor, or of the host, to `sum`. */
async function addScaled(backend: Backend, sum: BackendTensor, share: TensorLike, factor: number): Promise<void> {
  const isHere = !isBackendTensor(share) || backend.owns(share)
  backend.ops.accumulate(sum, isHere ? share : await share.read(), factor)
}

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
