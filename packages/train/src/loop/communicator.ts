import type { Backend, BackendTensor } from '@cudnn-rnn/ops'

/** How the elements of all ranks are combined. */
export type ReduceOperation = 'sum' | 'min' | 'max'

/** The arrays that can be reduced. */
export type ReducibleArray = Float32Array | Float64Array | Int32Array

export interface AllReduceOptions {
  /** Default 'sum'. */
  readonly op?: ReduceOperation | undefined
  /**
   * The form in which elements travel; default their own. 'bfloat16' is for sums of floats, and halves the bytes of
   * float32: with u = 2⁻⁸, the error of a sum over n ranks is, to first
   * order, at most 2u·Σ|x| over MPI, which rounds every element and every
   * sum once, and n·u·Σ|x| over NCCL, which rounds after each addition. Over one rank nothing is rounded.
   */
  readonly wire?: 'bfloat16' | undefined
}

/**
 * Sums tensors of one executor over all ranks, in place and in the memory of the executor, between the calls made to it before
 * and after. Collective. Over a device it resolves once the sum is queued, and a sum that fails later ends the process, as a
 * call of the communicator that fails; over the host it resolves when the sum is done.
 */
export type TensorSum = (tensors: readonly BackendTensor[], options?: Pick<AllReduceOptions, 'wire'>) => Promise<void>

/**
 * The processes of one job, its ranks. Its calls are collective: every rank makes the same ones in the same order, with
 * arrays of the same length, and each waits for all. A call that some rank never makes ends the whole job at the
 * deadline. `openCommunicator` of `@cudnn-rnn/distributed` opens one.
 *
 * Every call rejects with `ERR_COMMUNICATOR_CLOSED` after `dispose`, and with `ERR_COMMUNICATOR` if the engine fails.
 */
export interface Communicator {
  readonly engine: 'none' | 'mpi' | 'nccl'
  /** Why this engine, for people. */
  readonly reason: string
  /** In 0..size-1 */
  readonly rank: number
  readonly size: number
  /** Among the ranks of this host. */
  readonly localRank: number
  readonly localSize: number
  /** Combines the arrays of all ranks element by element, in place. The array belongs to the call until it resolves. */
  allReduce(array: ReducibleArray, options?: AllReduceOptions): Promise<void>
  /** The sum of tensors of `backend`; undefined if they must be copied to pass through {@link Communicator.allReduce}. */
  tensorSum?(backend: Backend): TensorSum | undefined
  /** Overwrites the bytes of every rank with `root`'s, 0 by default. */
  broadcast(bytes: Uint8Array, root?: number): Promise<void>
  /** The bytes of every rank, in the order of ranks; their numbers may differ. */
  allGather(bytes: Uint8Array): Promise<Uint8Array[]>
  barrier(): Promise<void>
  /** Ends the processes of all ranks at once, this one too. @param code exit code, 1 by default. */
  abort(reason: string, code?: number): never
  /** Waits for all ranks, then closes. Idempotent. */
  dispose(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
