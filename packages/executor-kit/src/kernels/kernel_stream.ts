import type { TensorLike } from '@cudnn-rnn/backend'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { StreamKernel } from '../host/host_stepper.js'
import { HostTensor } from '../host/host_tensor.js'
import type { KernelNetwork, KernelOperations, KernelQuantizedWeights, KernelStepper } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'
import type { QuantizedParamsCache } from './quantized_params.js'

/** A stream on the calling thread, with the pool's help. */
export class KernelStream implements StreamKernel {
  readonly #operations: KernelOperations
  readonly #stepper: KernelStepper
  /** Of a stepper that keeps a copy of the parameters. */
  readonly #follow: KernelStepper['followParams']
  readonly #quantized: QuantizedParamsCache
  readonly #params: FloatArray
  /** The tensor of the parameters: queued work may be about to write it. */
  readonly #variable: HostTensor | undefined

  /** The batch and `params` were checked. */
  constructor(
    { operations, memory, makeStepper }: KernelExecutor,
    network: KernelNetwork,
    quantized: QuantizedParamsCache,
    params: TensorLike,
    batch: number,
  ) {
    this.#operations = operations
    this.#quantized = quantized
    this.#variable = params instanceof HostTensor ? params : undefined
    this.#params = memory.elements(params) as FloatArray
    this.#stepper = makeStepper(network, batch)
    this.#follow = this.#stepper.followParams?.bind(this.#stepper)
  }

  step(input: FloatArray, output: FloatArray, steps: number): void {
    const quantized = this.#readyWeights()
    this.#follow?.(this.#variable?.version)
    if (quantized === null) this.#stepper.step(this.#params, input, output, steps)
    else this.#stepper.step(this.#params, input, output, steps, quantized)
  }

  stepRows(rows: Int32Array, count: number, input: FloatArray, output: FloatArray): void {
    const quantized = this.#readyWeights()
    this.#follow?.(this.#variable?.version)
    if (quantized === null) this.#stepper.stepRows(this.#params, rows, count, input, output)
    else this.#stepper.stepRows(this.#params, rows, count, input, output, quantized)
  }

  resetRow(row: number): void {
    this.#stepper.resetRow(row)
  }

  moveState(h: FloatArray, c: FloatArray | null, restoring: boolean, rows: Int32Array | null, count: number): void {
    this.#stepper.moveState(h, c, restoring, rows, count)
  }

  /** Waits until the parameters are written; the quantized copy that is read in their place, or null. */
  #readyWeights(): KernelQuantizedWeights | null {
    const quantized = this.#quantized.of(this.#variable, this.#params)
    const job = quantized?.job ?? this.#variable?.job ?? 0
    if (job > 0) this.#operations.wait(job)
    return quantized?.weights ?? null
  }
}
