import type { RnnStepper, RnnStreamState } from '@cudnn-rnn/backend'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { ForwardStream } from './forward_stream.js'

/**
 * The batched stream under a pool, whose streams are its rows. Arguments were checked, and nothing but `step` is called
 * before the promise of a step is settled.
 */
export interface PoolRows {
  /** Rows [R] one time step on: input [R,I] to output [R,D]. A promise where the executor computes elsewhere. */
  step(rows: Int32Array, input: FloatArray, output: FloatArray): Promise<void> | undefined
  reset(row: number): void
  /** The state at the time of the call. */
  state(row: number): Promise<RnnStreamState>
  restore(row: number, state: RnnStreamState): void
  dispose(): void
}

/** The sizes of a step. */
interface StepSizes {
  readonly inputSize: number
  /** P or H */
  readonly columns: number
}

/** Rows that step on the calling thread. */
export function stepperRows(stepper: RnnStepper, { inputSize, columns }: StepSizes): PoolRows {
  return {
    step(rows, input, output) {
      const count = rows.length
      stepper.stepRowsSync(rows, { data: input, shape: [count, inputSize] }, { data: output, shape: [count, columns] })
      return undefined
    },
    reset: (row) => stepper.reset([row]),
    state: async (row) => stepper.state([row]),
    restore: (row, state) => stepper.restore(state, [row]),
    dispose: () => stepper.dispose(),
  }
}

/** Rows that step elsewhere. */
export function forwardRows(stream: ForwardStream, { inputSize }: StepSizes): PoolRows {
  return {
    async step(rows, input, output) {
      const { data } = await stream.stepRows(rows, { data: input, shape: [rows.length, inputSize] })
      output.set(data)
    },
    reset: (row) => stream.reset([row]),
    state: (row) => stream.state([row]),
    restore: (row, state) => stream.restore(state, [row]),
    dispose: () => stream.dispose(),
  }
}
