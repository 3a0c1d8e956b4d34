import { checkOptions, optional, TEXT } from '@cudnn-rnn/canonical/rules'
import type {
  AnyBackendTensor,
  Backend,
  BackendStats,
  BackendTensor,
  DenseOps,
  FloatDType,
  HostLstm,
  HostProducts,
  Rnn,
  SharedMemory,
} from '@cudnn-rnn/ops'
import {
  checkDescriptor,
  type FloatArray,
  Inspectable,
  type RnnDescriptor,
  type Summary,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { writableTensor } from '../memory/executor_memory.js'
import { checkedOperations, type OperationKernels } from '../operations/checked_operations.js'
import { backendSummary } from '../memory/summaries.js'
import { checkRule } from '../arguments/tensor_arguments.js'
import type { HostMemory } from './host_memory.js'
import type { HostTensor } from './host_tensor.js'

/** The parts in which host executors differ. */
export interface HostExecutor<OwnRnn extends Rnn> {
  readonly name: string
  readonly reason: string
  readonly implementation?: string
  readonly opaqueOrder?: string
  readonly memory: HostMemory
  readonly kernels: OperationKernels<HostTensor>
  readonly products: HostProducts
  readonly lstm?: HostLstm | undefined
  /** Resolves when every operation that was queued before is done; absent if none is queued. */
  settled?(): Promise<void>
  /** Prepares a network; throws RangeError `ERR_PARAMS_TOO_LARGE`. */
  prepare(descriptor: RnnDescriptor): OwnRnn
}

/** An executor whose tensors are in host memory. */
export class HostBackend<OwnRnn extends Rnn = Rnn> extends Inspectable implements Backend {
  readonly name: string
  readonly reason: string
  readonly implementation: string | undefined
  readonly opaqueOrder: string | undefined
  readonly dtype: FloatDType
  readonly ops: DenseOps
  readonly shared: SharedMemory
  readonly products: HostProducts
  readonly lstm: HostLstm | undefined
  readonly #memory: HostMemory
  readonly #settled: (() => Promise<void>) | undefined
  readonly #prepare: (descriptor: RnnDescriptor) => OwnRnn

  constructor({
    name,
    reason,
    implementation,
    opaqueOrder,
    memory,
    kernels,
    products,
    lstm,
    settled,
    prepare,
  }: HostExecutor<OwnRnn>) {
    super()
    this.name = name
    this.reason = reason
    this.implementation = implementation
    this.opaqueOrder = opaqueOrder
    this.dtype = memory.dtype
    this.ops = checkedOperations(memory, kernels)
    this.products = products
    this.lstm = lstm
    this.#memory = memory
    this.#settled = settled
    this.shared = {
      allocate: memory.allocateShared,
      tensor: (elements, options) => memory.shared(elements, options),
    }
    this.#prepare = prepare
  }

  tensor<Data extends FloatArray | Int32Array>(host: Tensor<Data>): HostTensor<Data> {
    return this.#memory.copyOf(host)
  }

  zeros(shape: readonly number[], options: { readonly layout?: string | undefined } = {}): HostTensor {
    const given = checkOptions('make a tensor of zeros', options, { layout: optional(TEXT) })
    return this.#memory.zeros(shape, given.layout)
  }

  owns(tensor: AnyBackendTensor): boolean {
    return this.#memory.owns(tensor)
  }

  /**
   * The arrays of floating tensors, for a library that writes them where they are. Resolves when the operations queued before are
   * done. The tensors count as written, and must not be used until the library is done.
   *
   * @throws TypeError `ERR_FOREIGN_TENSOR`, `ERR_NOT_A_TENSOR`; RangeError `ERR_BACKEND_DISPOSED`, `ERR_SHARED_TENSOR`,
   *   `ERR_TENSOR_DISPOSED`, `ERR_TENSOR_TRANSFERRED`, and the errors of the operations that fill them
   */
  async arraysToWrite(action: string, tensors: readonly BackendTensor[]): Promise<FloatArray[]> {
    const memory = this.#memory
    memory.life.check(action)
    const own = tensors.map((tensor, index) => {
      const name = `tensors[${index}]`
      const taken = writableTensor(memory, action, name, tensor)
      checkRule(action, name, taken, { dtype: memory.dtype })
      return taken
    })
    const arrays = own.map(({ live: data }) => data as FloatArray)
    for (const tensor of own) tensor.version++
    await Promise.all([this.#settled?.(), ...own.map(({ job }) => (job > 0 ? memory.done(job) : undefined))])
    return arrays
  }

  rnn(descriptor: RnnDescriptor): OwnRnn {
    this.#memory.life.check('prepare a network')
    checkDescriptor(descriptor)
    return this.#prepare(descriptor)
  }

  stats(): BackendStats {
    return this.#memory.ledger.snapshot()
  }

  dispose(): void {
    this.#memory.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected override summary(): Summary {
    return backendSummary(this, this.#memory.life)
  }
}
