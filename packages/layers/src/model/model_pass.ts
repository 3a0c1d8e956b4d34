import type { BackendTensor } from '@cudnn-rnn/ops'
import { onTape, Recording } from '@cudnn-rnn/ops/executor'
import type { BatchResult } from '@cudnn-rnn/train'
import type { LayerRecordOptions } from '../layer.js'
import { rowsIn } from '../training/batches.js'
import type { AnyBatch } from '../training/layer_batch.js'
import { batchOfOutput, modelLoss, type OutputLoss } from '../training/output_losses.js'
import type { CarriedStates } from './carried_states.js'
import type { WholeModel } from './whole_model.js'

/**
 * Loss and gradients of one batch, on one tape. Nothing is read, so that executors can queue a step as a whole.
 *
 * @param carried the states that the batch continues; moved on.
 */
export function modelGradients(
  model: WholeModel,
  batch: AnyBatch,
  losses: readonly OutputLoss[],
  carried?: CarriedStates,
): Promise<BatchResult & { readonly loss: BackendTensor }> {
  return onTape(new Recording(model.executor, model.variables), async (t) => {
    const { outputs, states = [] } = await model.record(t, batch.input, passOptions(batch, carried))
    const value = await modelLoss(t, model.graph, losses, outputs, batch)
    await t.recording.differentiate(value)
    carried?.keep(states.map(({ tensor }) => tensor))
    const [mean, ...gradients] = t.recording.take([value], model.variables)
    // Means of several outputs have no common denominator but the rows.
    const [{ name, rule }, ...more] = losses
    const own =
      more.length === 0 ? rule.weight(outputs[name].shape, batchOfOutput(model.graph, batch, name)) : undefined
    return { loss: mean, gradients, weight: own ?? rowsIn(model.graph, batch) }
  })
}

export function passOptions(batch: AnyBatch, carried: CarriedStates | undefined): LayerRecordOptions {
  return {
    sequenceLengths: batch.sequenceLengths,
    ...(carried && { states: carried.before(batch), keepStates: true }),
  }
}
