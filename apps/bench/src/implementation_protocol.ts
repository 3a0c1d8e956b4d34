/**
 * The protocol between the benchmark and the process of an implementation: one JSON object a line, a request on stdin, its
 * answer on stdout. The first line of a process is a {@link Greeting}; other lines are ignored.
 */
import type { TensorFile } from './tensor_file.js'
import type { Pass, Workload } from './workload.js'

/** The first line: the library that was loaded, or the reason why none was. */
export type Greeting =
  | { readonly ready: true; readonly version: string; readonly detail: string }
  | { readonly ready: false; readonly reason: string }

/** A workload with its operands, ready to be loaded. */
export interface Task {
  readonly workload: Workload
  readonly pass: Pass
  /** Parameters in the implementation's layout, named "<group>/<tensor>". */
  readonly parameters: TensorFile
  /** `input` and `outputGradient`. */
  readonly operands: TensorFile
}

/** Requests and replies, by name. */
export interface Requests {
  /** Loads a task in place of the one before and runs it once, timed only for the estimate. */
  readonly prepare: { readonly ask: { readonly task: Task }; readonly answer: { readonly firstMs: number } }
  /** Runs the task once untimed and then until `sliceMs` are spent, at least once. */
  readonly run: {
    readonly ask: { readonly sliceMs: number; readonly warmUp: boolean }
    readonly answer: { readonly times: readonly number[] }
  }
  /** Writes `output`, and in training `inputGradient` and the gradients of the parameters, to a new file. */
  readonly results: { readonly ask: { readonly path: string }; readonly answer: { readonly file: TensorFile } }
  /** Frees the task. */
  readonly release: { readonly ask: object; readonly answer: object }
}

export type RequestName = keyof Requests

/** An answer, or what went wrong. */
export type Reply<Name extends RequestName> =
  | { readonly ok: true; readonly answer: Requests[Name]['answer'] }
  | { readonly ok: false; readonly message: string }
