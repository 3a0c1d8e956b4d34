import type { TensorLike } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import {
  clipToNorm,
  type HostMemory,
  type HostTensor,
  hostKernels,
  hostRow,
  type OperationKernels,
  type OptimizerUpdate,
  type StatementKernels,
} from '@cudnn-rnn/ops/executor'
import { applyUpdate } from './optimizer_updates.js'

export function referenceKernels(memory: HostMemory): OperationKernels<HostTensor> {
  return Object.assign(new ReferenceStatements(memory), {
    ...hostKernels(memory, hostRow),
    readIds: (ids: TensorLike) => memory.elements(ids) as Int32Array,
  })
}

class ReferenceStatements implements StatementKernels<HostTensor> {
  readonly #memory: HostMemory

  constructor(memory: HostMemory) {
    this.#memory = memory
  }

  norm(tensors: readonly HostTensor[], maxNorm: number): HostTensor {
    const arrays = tensors.map(({ live }) => live as FloatArray)
    return this.#scalar(clipToNorm(arrays, maxNorm))
  }

  assign(variable: HostTensor, source: TensorLike): void {
    variable.live.set(this.#memory.elements(source))
  }

  clip(tensors: readonly HostTensor[], limit: number): void {
    // All are looked at first: none is clipped if one was transferred elsewhere.
    const arrays = tensors.map(({ live: data }) => data)
    for (const data of arrays) {
      for (let index = 0; index < data.length; index++) data[index] = Math.max(-limit, Math.min(limit, data[index]))
    }
  }

  update(update: OptimizerUpdate, written: readonly HostTensor[], source: TensorLike | undefined): void {
    const data = written.map((tensor) => tensor.live as FloatArray)
    applyUpdate(update, data, source && this.#memory.floats(source))
  }

  #scalar(value: number): HostTensor {
    const data = this.#memory.allocate(1)
    data[0] = value
    return this.#memory.create([], data)
  }
}
