import type { TensorRecord } from './tensor_file.js'
import type { Pass, Workload } from './workload.js'

/** The workload that an implementation runs. */
export interface Task {
  readonly workload: Workload
  readonly pass: Pass
  /** Named "<group>/<tensor>" in the implementation's layout. */
  readonly parameters: TensorRecord
  /** [T,B,I] */
  readonly input: Float32Array
  /** [T,B,D·H] */
  readonly outputGradient: Float32Array
}

/** A loaded workload. */
export interface LoadedTask {
  /** Runs it once, to the last number on the host. */
  run(): Promise<void> | void
  /** Times of runs that a runner measures outside of this process; `run` is timed if it is absent. */
  measure?(sliceMs: number, warmUp: boolean): Promise<number[]>
  /** Results of the last run: `output`, in training `inputGradient` and the parameters' gradients by their names. */
  results(): Promise<TensorRecord>
  release(): void
}

/** An implementation that runs in Node.js. */
export interface Runner {
  readonly version: string
  readonly detail: string
  load(task: Task): Promise<LoadedTask>
}
