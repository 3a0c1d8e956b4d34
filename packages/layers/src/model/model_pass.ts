import type { FloatArray } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import type { BackendTensor } from '@cudnn-rnn/ops'
import { onTape, Recording } from '@cudnn-rnn/ops/executor'
import type { BatchResult } from '@cudnn-rnn/train'
import { modelLoss, weightsOf } from '../training/batch_loss.js'
import { type AnyBatch, type LayerBatch, rowsIn } from '../training/batches.js'
import type { CarriedStates } from './carried_states.js'
import type { LayerRecordOptions } from '../layer.js'
import { type CheckedLoss, isCtc, isNamedLosses } from '../training/losses.js'
import { isNamedModel } from './model_inputs.js'
import type { WholeModel } from './whole_model.js'

/** The denominator of a batch's mean loss: the number of its rows, or the sum of their weights. */
function weightOfRows(model: WholeModel, loss: CheckedLoss, shape: readonly number[], given: AnyBatch): number {
  if (isNamedModel(model.graph) || isNamedLosses(loss)) return rowsIn(model.graph, given)
  const batch = given as LayerBatch
  if (typeof loss === 'function') return shape[Number(model.output.isSequence)]
  if (isCtc(loss)) return loss.reduction === 'sum' ? 1 : (shape[1] ?? 1)
  const weights = weightsOf(model, batch, model.executor.dtype)
  if (weights === undefined) return elementCount(shape.slice(0, -1))
  let sum = 0
  for (const weight of weights.data as FloatArray) sum += weight
  return sum
}

/**
 * Loss and gradients of one batch, on one tape. Nothing is read, so that executors can queue a step as a whole.
 *
 * @param carried the states that the batch continues; moved on.
 */
export function modelGradients(
  model: WholeModel,
  batch: AnyBatch,
  loss: CheckedLoss,
  carried?: CarriedStates,
): Promise<BatchResult & { readonly loss: BackendTensor }> {
  return onTape(new Recording(model.executor, model.variables), async (t) => {
    const { output, outputs, states = [] } = await model.record(t, batch.input, passOptions(batch, carried))
    const value = await modelLoss(t, model, loss, outputs, batch)
    await t.recording.differentiate(value)
    carried?.keep(states.map(({ tensor }) => tensor))
    const [mean, ...gradients] = t.recording.take([value], model.variables)
    return { loss: mean, gradients, weight: weightOfRows(model, loss, output.shape, batch) }
  })
}

export function passOptions(batch: AnyBatch, carried: CarriedStates | undefined): LayerRecordOptions {
  return {
    sequenceLengths: batch.sequenceLengths,
    ...(carried && { states: carried.before(batch), keepStates: true }),
  }
}
