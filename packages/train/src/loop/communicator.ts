/** How the elements of all ranks are combined. */
export type ReduceOperation = 'sum' | 'min' | 'max'

/** The arrays that can be reduced. */
export type ReducibleArray = Float32Array | Float64Array | Int32Array

/**
 * The processes of one job, its ranks. Its calls are collective: every rank makes the same ones in the same order, with
 * arrays of the same length, and each waits for all. A call that some rank never makes ends the whole job at the
 * deadline. `openCommunicator` of `@cudnn-rnn/distributed` opens one.
 *
 * Every call rejects with `ERR_COMMUNICATOR_CLOSED` after `dispose`, and with `ERR_COMMUNICATOR` where the engine fails.
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
  allReduce(array: ReducibleArray, options?: { readonly op?: ReduceOperation | undefined }): Promise<void>
  /** Overwrites the bytes of every rank with those of `root`, 0 by default. */
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
