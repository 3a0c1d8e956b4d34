import type { TensorRecord } from './tensor_file.js'
import type { Pass, Workload } from './workload.js'

/** The workload that a contestant runs. */
export interface Exercise {
  readonly workload: Workload
  readonly pass: Pass
  /** Named "<group>/<tensor>" in the contestant's layout. */
  readonly parameters: TensorRecord
  /** [T,B,I] */
  readonly input: Float32Array
  /** [T,B,D·H] */
  readonly outputGradient: Float32Array
}

/** A loaded workload. */
export interface LoadedExercise {
  /** Runs it once, to the last number on the host. */
  run(): Promise<void> | void
  /** Times of runs that a player measures by itself, outside of this process; `run` is timed where it is absent. */
  measure?(sliceMs: number, warmUp: boolean): Promise<number[]>
  /** Results of the last run: `output`, in training `inputGradient` and the parameters' gradients by their names. */
  results(): Promise<TensorRecord>
  release(): void
}

/** A contestant that runs in Node.js. */
export interface Player {
  readonly version: string
  readonly detail: string
  load(exercise: Exercise): Promise<LoadedExercise>
  /** One product of two float32 matrices [size,size] on the host, as a function to be timed; absent where it has none. */
  product?(size: number): Promise<() => Promise<void>>
}
