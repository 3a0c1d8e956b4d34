import { type CodedError, describeValue, type FloatArray } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import {
  type AnyBackendTensor,
  type BackendTensor,
  type FloatDType,
  isBackendTensor,
  type TensorLike,
} from '@cudnn-rnn/ops'
import type { Ledger } from './ledger.js'
import type { Lifetime } from './lifetime.js'

/** A tensor that counts how often it was written in place. */
export interface VersionedTensor<Data extends FloatArray | Int32Array = FloatArray> extends BackendTensor<Data> {
  /** Grows with every write; a tape compares it to notice overwritten operands. */
  version: number
  /** The id of the shared memory that the tensor is in, which is read-only; undefined for its own memory. */
  readonly sharedId?: string | undefined
}

/** Whose arguments are checked: an executor, or its memory. */
export interface ArgumentOwner {
  /** The floating type of everything it computes. */
  readonly dtype: FloatDType
  /** Whether the tensor lives here. */
  owns(tensor: AnyBackendTensor): boolean
}

/** The memory of an executor whose tensors are `Own`, as far as the checks of arguments look at it. */
export interface ExecutorMemory<Own extends BackendTensor> extends ArgumentOwner {
  readonly ledger: Ledger
  readonly life: Lifetime
  owns(tensor: TensorLike): tensor is Own
}

/**
 * Returns `tensor` if it belongs to the executor.
 *
 * @throws TypeError `ERR_FOREIGN_TENSOR` for a tensor of another executor, `ERR_NOT_A_TENSOR` for a host tensor
 */
export function ownTensor<Own extends BackendTensor>(
  memory: ExecutorMemory<Own>,
  action: string,
  name: string,
  tensor: TensorLike,
): Own {
  if (memory.owns(tensor)) return tensor
  if (isBackendTensor(tensor)) throw foreignTensor(action, name)
  throw codedTypeError(
    'ERR_NOT_A_TENSOR',
    `Cannot ${action} as ${name} must be a tensor of the executor: current value is ${describeValue(tensor)}. Make one with backend.tensor().`,
    { argument: name },
  )
}

/**
 * Like {@link ownTensor}, for a tensor that is about to be written.
 *
 * @throws RangeError `ERR_SHARED_TENSOR` for one that other threads read
 */
export function writableTensor<Own extends VersionedTensor>(
  memory: ExecutorMemory<Own>,
  action: string,
  name: string,
  tensor: TensorLike,
): Own {
  const own = ownTensor(memory, action, name, tensor)
  if (own.sharedId === undefined) return own
  throw codedRangeError(
    'ERR_SHARED_TENSOR',
    `Cannot ${action} as ${name} is shared with other threads, which read it at the same time: write a copy, and share that`,
    { argument: name },
  )
}

/**
 * Checks operands by their names in the public API: host tensors and absent ones pass; throws as {@link ownTensor}.
 *
 * @param executor its memory, or the executor itself
 */
export function checkOwnTensors(
  executor: Pick<ArgumentOwner, 'owns'>,
  action: string,
  operands: Readonly<Record<string, TensorLike | null | undefined>>,
): void {
  for (const name in operands) checkOwnTensor(executor, action, name, operands[name])
}

/** Like {@link checkOwnTensors}, for one operand. */
export function checkOwnTensor(
  executor: Pick<ArgumentOwner, 'owns'>,
  action: string,
  name: string,
  operand: TensorLike | null | undefined,
): void {
  if (isBackendTensor(operand) && !executor.owns(operand)) throw foreignTensor(action, name)
}

function foreignTensor(action: string, name: string): CodedError<TypeError> {
  return codedTypeError(
    'ERR_FOREIGN_TENSOR',
    `Cannot ${action} as ${name} belongs to another executor: read() it and pass the host tensor`,
    { argument: name },
  )
}
