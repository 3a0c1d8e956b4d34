import type { TensorLike } from '@cudnn-rnn/ops'
import { liveLength } from '@cudnn-rnn/canonical/rules'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { StreamKernel } from '../host/host_stepper.js'
import { HostTensor } from '../host/host_tensor.js'
import type { KernelNetwork, KernelOperations, KernelQuantizedWeights, KernelStepper } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'
import type { QuantizedParamsCache } from './quantized_params.js'

/** Elements of input and output that a bound step copies at most: 8 KiB of float32 take about 0.1 µs. */
const BOUND_ELEMENTS = 2048

/** The built-in type's method: a caller's array may override it. */
const copyInto = (to: FloatArray, from: FloatArray): void => Float32Array.prototype.set.call(to, from)

/** A step between two arrays of the stream, whose addresses the kernels have. */
interface BoundStep {
  readonly input: FloatArray
  readonly output: FloatArray
  readonly run: () => void
}

/** A stream on the calling thread, with the pool's help. */
export class KernelStream implements StreamKernel {
  readonly #operations: KernelOperations
  readonly #stepper: KernelStepper
  /** Present if the stepper keeps a copy of the parameters. */
  readonly #follow: KernelStepper['followParams']
  readonly #allocate: (length: number) => FloatArray
  /** Made at the first single step; null if a step is not bound. */
  #bound: BoundStep | null | undefined
  readonly #quantized: QuantizedParamsCache
  readonly #params: FloatArray
  readonly #batch: number
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
    this.#batch = batch
    this.#stepper = makeStepper(network, batch)
    this.#follow = this.#stepper.followParams?.bind(this.#stepper)
    this.#allocate = (length) => memory.allocate(length)
  }

  step(input: FloatArray, output: FloatArray, steps: number): void {
    const quantized = this.#readyWeights()
    this.#follow?.(this.#variable?.version)
    if (quantized === null && steps === 1 && this.#stepBound(input, output)) return
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

  /** One step between arrays of the stream; false if it is not bound. */
  #stepBound(input: FloatArray, output: FloatArray): boolean {
    if (this.#bound === undefined) this.#bound = this.#bind(liveLength(input), liveLength(output))
    if (this.#bound === null) return false
    // A getter of the caller's may have transferred one array after it was checked; the unbound step refuses it. The
    // parameters of a variable were looked at last.
    if (this.#variable === undefined && liveLength(this.#params) === 0) return false
    if (input.length !== this.#bound.input.length || output.length !== this.#bound.output.length) return false
    copyInto(this.#bound.input, input)
    this.#bound.run()
    copyInto(output, this.#bound.output)
    return true
  }

  #bind(inputs: number, outputs: number): BoundStep | null {
    if (this.#stepper.bind === undefined || inputs + outputs > BOUND_ELEMENTS) return null
    const input = this.#allocate(inputs)
    const output = this.#allocate(outputs)
    return { input, output, run: this.#stepper.bind(this.#params, input, output) }
  }

  /** Waits until the parameters are written; the quantized copy that is read in their place, or null. */
  #readyWeights(): KernelQuantizedWeights | null {
    const quantized = this.#quantized.of(this.#variable, this.#params, this.#batch)
    const job = quantized?.job ?? this.#variable?.job ?? 0
    if (job > 0) this.#operations.wait(job)
    return quantized?.weights ?? null
  }
}
