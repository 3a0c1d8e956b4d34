import type { TensorLike } from '@cudnn-rnn/backend'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { HostTensor, type StreamKernel } from '@cudnn-rnn/executor-kit'
import type { CpuExecutor } from './cpu_executor.js'
import type { NativeExecutor, NativeNetwork, NativeQuantizedWeights, NativeStepper } from './native_addon.js'
import type { QuantizedParamsCache } from './quantized_params.js'

/** A stream on the calling thread, with the pool's help. */
export class CpuStream implements StreamKernel {
  readonly #native: NativeExecutor
  readonly #stepper: NativeStepper
  readonly #quantized: QuantizedParamsCache
  readonly #params: FloatArray
  /** The tensor of the parameters: queued work may be about to write it. */
  readonly #variable: HostTensor | undefined

  /** The batch and `params` were checked. */
  constructor(
    { addon, native, memory, weightFormat }: CpuExecutor,
    network: NativeNetwork,
    quantized: QuantizedParamsCache,
    params: TensorLike,
    batch: number,
  ) {
    this.#native = native
    this.#quantized = quantized
    this.#variable = params instanceof HostTensor ? params : undefined
    this.#params = memory.elements(params) as FloatArray
    this.#stepper = new addon.NativeStepper(native, network, batch, weightFormat === 'int8')
  }

  step(input: FloatArray, output: FloatArray, steps: number): void {
    const quantized = this.#readyWeights()
    if (quantized === null) this.#stepper.step(this.#params, input, output, steps)
    else this.#stepper.step(this.#params, input, output, steps, quantized)
  }

  stepRows(rows: Int32Array, count: number, input: FloatArray, output: FloatArray): void {
    const quantized = this.#readyWeights()
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
  #readyWeights(): NativeQuantizedWeights | null {
    const quantized = this.#quantized.of(this.#variable, this.#params)
    const job = quantized?.job ?? this.#variable?.job ?? 0
    if (job > 0) this.#native.wait(job)
    return quantized?.weights ?? null
  }
}
