import { type Backend, type BackendTensor, type DenseOps, isBackendTensor } from '@cudnn-rnn/ops'
import { CHECKED_ROWS } from '../operations/checked_row.js'
import type { Recording } from './recording.js'

type Method = (...given: readonly unknown[]) => unknown

/** The operations of an executor as gradients use them: a recording owns every tensor that they make. */
export class GradientOperations {
  readonly ops: DenseOps
  readonly #backend: Backend
  #recording: Recording | undefined
  #made: BackendTensor[] = []

  private constructor(backend: Backend) {
    this.#backend = backend
    const methods = backend.ops as unknown as Readonly<Record<string, Method>>
    const rows = CHECKED_ROWS.map(({ name }): [string, Method] => [
      name,
      (...given) => this.#noted(methods[name](...given)),
    ])
    this.ops = {
      ...Object.fromEntries(rows),
      accumulate: (variable, source) => backend.ops.accumulate(variable, source),
    } as DenseOps
  }

  static #known = new WeakMap<Backend, GradientOperations>()

  static of(backend: Backend): GradientOperations {
    const known = GradientOperations.#known.get(backend) ?? new GradientOperations(backend)
    GradientOperations.#known.set(backend, known)
    return known
  }

  /** The result of `pass`, and the tensors that it made. */
  run<Result>(recording: Recording, pass: () => Result): { readonly result: Result; readonly made: BackendTensor[] } {
    this.#recording = recording
    this.#made = []
    return { result: pass(), made: this.#made }
  }

  zeros(shape: readonly number[]): BackendTensor {
    return this.#noted(this.#backend.zeros(shape)) as BackendTensor
  }

  #noted(result: unknown): unknown {
    for (const tensor of isBackendTensor(result) ? [result] : Object.values(result as object)) {
      this.#recording?.own(tensor)
      this.#made.push(tensor)
    }
    return result
  }
}
