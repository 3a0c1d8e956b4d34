import { required } from '@cudnn-rnn/arguments'
import type { BackendTensor } from '@cudnn-rnn/backend'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import type { BatchResult } from '@cudnn-rnn/train'
import { batchLoss, weightsOf } from './batch_loss.js'
import type { LayerBatch } from './batches.js'
import type { CarriedStates } from './carried_states.js'
import { type CheckedLoss, isCtc } from './losses.js'
import type { WholeModel } from './whole_model.js'

/** The denominator of a batch's mean loss: the number of its rows, or the sum of their weights. */
function weightOfRows(model: WholeModel, loss: CheckedLoss, { shape }: BackendTensor, batch: LayerBatch): number {
  if (typeof loss === 'function') return shape[Number(model.output.isSequence)]
  if (isCtc(loss)) return loss.reduction === 'sum' ? 1 : (shape[1] ?? 1)
  const weights = weightsOf(model, batch, model.executor.dtype)
  if (weights === undefined) return elementCount(shape.slice(0, -1))
  let sum = 0
  for (const weight of weights.data as FloatArray) sum += weight
  return sum
}

/**
 * Loss and gradients of one batch. Nothing is read, so that executors can queue a step as a whole.
 *
 * @param carried the states that the batch continues; moved on.
 */
export async function modelGradients(
  model: WholeModel,
  batch: LayerBatch,
  loss: CheckedLoss,
  carried?: CarriedStates,
): Promise<BatchResult & { readonly loss: BackendTensor }> {
  const { sequenceLengths } = batch
  const carrying = carried && { states: carried.before(batch), keepStates: true }
  const { output, tape, states } = await model.call(batch.input, { sequenceLengths, ...carrying })
  try {
    const result = await batchLoss(model, loss, output, batch)
    using _gradient = result.gradient
    try {
      const { input, variables } = await model.gradients(
        required(tape, 'a call in training, the default, has a tape'),
        result.gradient,
      )
      input?.dispose()
      carried?.keep(states)
      return { loss: result.loss, gradients: variables, weight: weightOfRows(model, loss, output, batch) }
    } catch (error) {
      result.loss.dispose()
      throw error
    }
  } finally {
    tape?.dispose()
    output.dispose()
    for (const state of states) state.dispose()
  }
}
