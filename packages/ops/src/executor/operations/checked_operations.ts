import type { BackendTensor, DenseOps, TensorLike } from '@cudnn-rnn/ops'
import type { ExecutorMemory, VersionedTensor } from '../memory/executor_memory.js'
import { type AnyKernel, CHECKED_ROWS, callKernel } from './checked_row.js'
import { type StatementKernels, Statements } from './statements.js'
import type { RowKernels, RowName } from './table.js'

/**
 * The kernels of an executor for `DenseOps`: one for each row, gradient and statement. Operands are checked: their shapes match,
 * and backend tensors are `Own`. A kernel that throws has changed nothing.
 */
export interface OperationKernels<Own extends BackendTensor> extends RowKernels, StatementKernels<Own> {
  /** Class ids as they are now, or undefined if they are out of reach; the ids of other kernels are these. */
  readIds(ids: TensorLike): Int32Array | undefined
}

/** The operations of an executor: everything is checked here, then one of its kernels computes. */
export function checkedOperations<Own extends VersionedTensor>(
  memory: ExecutorMemory<Own>,
  kernels: OperationKernels<Own>,
): DenseOps {
  const methods: Partial<Record<RowName, (...given: readonly unknown[]) => BackendTensor>> = {}
  const readIds = (ids: TensorLike) => kernels.readIds(ids)
  for (const row of CHECKED_ROWS) {
    const compute = (kernels[row.name] as AnyKernel | undefined)?.bind(kernels)
    if (compute === undefined) continue
    methods[row.name] = (...given) => callKernel(row, memory, readIds, compute, given)
  }
  return Object.assign(new Statements(memory, kernels), methods) as unknown as DenseOps
}
