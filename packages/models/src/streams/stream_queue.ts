import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'

/** A call of `step` that waits, or is being computed. */
export interface QueuedStep {
  /** [T,I]; undefined until a backend tensor is read. */
  frames: FloatArray | undefined
  /** T */
  readonly steps: number
  /** Time steps computed. */
  done: number
  /** [T,D], of which `done` rows are filled; undefined where T is 1. */
  readonly outputs: FloatArray | undefined
  /** Shape of the result. */
  readonly shape: readonly number[]
  /** `performance.now()` of the call. */
  readonly since: number
  readonly resolve: (output: Tensor) => void
  readonly reject: (reason: unknown) => void
}

/** A call of `state`, `restore` or `reset` that waits for the steps before it. */
export interface QueuedChange {
  readonly apply: () => void
  readonly reject: (reason: unknown) => void
}

/** What one stream of a pool still has to do, in the order of its calls. */
export class StreamQueue {
  /** The row of the batched stream. */
  readonly row: number
  readonly calls: (QueuedStep | QueuedChange)[] = []
  /** The next time step is in a round that is gathered or computed: nothing else may begin. */
  held = false
  /** Time steps that wait. */
  waiting = 0
  /** Why no more calls are taken, as an error to throw; undefined while they are. */
  ended: (() => Error) | undefined

  constructor(row: number) {
    this.row = row
  }

  /** Ends the queue and rejects its calls. */
  end(reason: () => Error): void {
    this.ended = reason
    for (const call of this.calls.splice(0)) call.reject(reason())
    this.waiting = 0
  }
}

export function isStep(call: QueuedStep | QueuedChange): call is QueuedStep {
  return 'steps' in call
}
