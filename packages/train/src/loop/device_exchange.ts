import { type Backend, type BackendTensor, DTYPES, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
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

export function totalWeight(results: readonly ShareResult[]): number {
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

/** A loss as a tensor. */
export function lossTensor(backend: Backend, { loss }: BatchResult): TensorLike {
  if (typeof loss !== 'number') return loss
  return { data: DTYPES[backend.dtype].array.of(loss), shape: [] }
}

/** Adds `factor` times a tensor of any executor, or of the host, to `sum`. */
export async function addScaled(
  backend: Backend,
  sum: BackendTensor,
  share: TensorLike,
  factor: number,
): Promise<void> {
  const isHere = !isBackendTensor(share) || backend.owns(share)
  backend.ops.accumulate(sum, isHere ? share : await share.read(), factor)
}
