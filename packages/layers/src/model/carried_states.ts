import type { BackendTensor } from '@cudnn-rnn/ops'
import type { Trainable } from '@cudnn-rnn/train'
import { rowsIn } from '../training/batches.js'
import type { AnyBatch } from '../training/layer_batch.js'
import type { WholeModel } from './whole_model.js'

/** The recurrent states of B rows, carried from batch to batch. They begin at zero. */
export class CarriedStates {
  /** For a checkpoint. */
  readonly tensors: readonly Trainable[]
  /** Each tensor's axis that has the rows. */
  readonly batchAxes: readonly number[]
  readonly #model: WholeModel

  /** Throws RangeError `ERR_BIDIRECTIONAL_STREAM` for a model with a layer that reads sequences from their end, too. */
  constructor(model: WholeModel, batch: number) {
    model.graph.checkForward('carry states')
    const shapes = model.stateShapes(batch)
    const larger = model.stateShapes(batch + 1)
    this.batchAxes = shapes.map((shape, index) => shape.findIndex((size, axis) => size !== larger[index][axis]))
    this.#model = model
    this.tensors = shapes.map((shape, index) => ({ name: `state/${index}`, value: model.executor.zeros(shape) }))
  }

  /** States for the batches of `first`'s data; undefined unless those say whether they restart. */
  static for(model: WholeModel, batch: AnyBatch): CarriedStates | undefined {
    if (batch.restarts === undefined || model.stateCount === 0) return undefined
    return new CarriedStates(model, rowsIn(model.graph, batch))
  }

  /** The states that a batch begins with. */
  before({ restarts = true }: AnyBatch): BackendTensor[] {
    if (restarts) {
      const { executor } = this.#model
      for (const { value } of this.tensors) {
        using zeros = executor.zeros(value.shape)
        executor.ops.assign(value, zeros)
      }
    }
    return this.tensors.map(({ value }) => value)
  }

  /** Copies the states at the end of a batch. */
  keep(states: readonly BackendTensor[]): void {
    const { ops } = this.#model.executor
    for (const [index, { value }] of this.tensors.entries()) ops.assign(value, states[index])
  }

  dispose(): void {
    for (const { value } of this.tensors) value.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
