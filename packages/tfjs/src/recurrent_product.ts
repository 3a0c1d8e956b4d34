import type { BackendTensor } from '@cudnn-rnn/ops'
import type { DeviceTensors } from './device_tensors.js'

/** The products of the states of all steps with a block R [H,N] of the recurrent kernel. */
export class RecurrentProduct {
  readonly #device: DeviceTensors
  readonly #kernel: BackendTensor
  readonly #transposed: BackendTensor
  /** [B,H] of each step. */
  readonly #operands: BackendTensor[] = []
  /** [B,N] of each step, from the last to the first. */
  readonly #gradients: BackendTensor[] = []

  /** @param kernel R, in row-major order. */
  constructor(device: DeviceTensors, kernel: Float32Array, units: number) {
    const columns = kernel.length / units
    this.#device = device
    this.#kernel = device.of(kernel, [units, columns])
    this.#transposed = device.of(transposed(kernel, columns), [columns, units])
  }

  /** h·R, for the next step. */
  forward(h: BackendTensor): BackendTensor {
    this.#operands.push(h)
    return this.#device.product(h, this.#kernel)
  }

  /** dz·Rᵀ, for the step before the one of the last call. */
  backward(dz: BackendTensor): BackendTensor {
    this.#gradients.unshift(dz)
    return this.#device.product(dz, this.#transposed)
  }

  /** The gradient of R over all steps. */
  kernelGradient(): BackendTensor {
    const { ops } = this.#device
    const [operands, gradients] = [this.#operands, this.#gradients].map((steps) => {
      const [batch, width] = steps[0].shape
      // Rows are the batch's, each with its steps, in both factors.
      return ops.reshape(ops.concat(steps), [batch * steps.length, width])
    })
    return ops.linearGradients(operands, this.#kernel, gradients).kernel
  }
}

function transposed(values: Float32Array, columns: number): Float32Array {
  const rows = values.length / columns
  return Float32Array.from(values, (_, k) => values[(k % rows) * columns + Math.floor(k / rows)])
}
