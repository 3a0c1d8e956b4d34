import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import type { Trainable } from '../optimizers/trainable.js'
import type { TrainingSaver } from './training_saver.js'

/** A saver that keeps the best variables of a training in memory; dispose it after use. */
export class BestWeights implements TrainingSaver {
  readonly #backend: Backend
  readonly #variables: readonly Trainable[]
  readonly #copies: readonly BackendTensor[]

  constructor(backend: Backend, variables: readonly Trainable[]) {
    this.#backend = backend
    this.#variables = variables
    this.#copies = variables.map(({ value: { shape, layout } }) => backend.zeros(shape, { layout }))
    this.#copy()
  }

  async save(kind: 'latest' | 'best'): Promise<void> {
    if (kind === 'best') this.#copy()
  }

  /** A training begins at its beginning. The best values are from the best evaluation, or from the beginning without one. */
  async restore(_: readonly Trainable[], kind: 'latest' | 'best' = 'latest'): Promise<undefined> {
    if (kind === 'latest') return
    for (const [n, { value }] of this.#variables.entries()) this.#backend.ops.assign(value, this.#copies[n])
  }

  #copy(): void {
    for (const [n, { value }] of this.#variables.entries()) this.#backend.ops.assign(this.#copies[n], value)
  }

  [Symbol.dispose](): void {
    for (const copy of this.#copies) copy.dispose()
  }
}
