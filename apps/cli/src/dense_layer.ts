import { type Backend, type BackendTensor, type TensorLike, Variable } from '@cudnn-rnn/rnn'
import type { Philox } from '@cudnn-rnn/rnn/executors'

/** y = x·kernel + bias with its variables. */
export class DenseLayer {
  readonly kernel: Variable
  readonly bias: Variable
  readonly #backend: Backend

  /** @param random draws the kernel: Glorot's uniform. */
  constructor(backend: Backend, name: string, [inputs, outputs]: readonly [number, number], random: Philox) {
    this.#backend = backend
    const limit = Math.sqrt(6 / (inputs + outputs))
    this.kernel = uniformVariable(backend, `${name}/kernel`, [inputs, outputs], limit, random)
    this.bias = new Variable(backend, backend.zeros([outputs]), `${name}/bias`)
  }

  get variables(): readonly Variable[] {
    return [this.kernel, this.bias]
  }

  call(input: TensorLike): BackendTensor {
    return this.#backend.ops.linear(input, this.kernel.value, this.bias.value)
  }

  gradients(input: TensorLike, outputGradient: TensorLike) {
    return this.#backend.ops.linearGradients(input, this.kernel.value, outputGradient)
  }

  dispose(): void {
    for (const variable of this.variables) variable.dispose()
  }
}

/** A variable drawn evenly from ±limit. */
export function uniformVariable(
  backend: Backend,
  name: string,
  shape: readonly [number, number],
  limit: number,
  random: Philox,
): Variable {
  const data = Float32Array.from({ length: shape[0] * shape[1] }, () => limit * (2 * random.uniform() - 1))
  return new Variable(backend, backend.tensor({ data, shape }), name)
}
