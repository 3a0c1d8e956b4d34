import type { BackendTensor, FloatDType } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'
import type { BatchResult } from '@cudnn-rnn/train'
import { type LayerBatch, stepWeights } from './batches.js'
import type { Layer } from './layer.js'
import { type LossName, lossOf } from './losses.js'
import type { WholeModel } from './whole_model.js'

/** Weights of a batch's rows: its own, else 1 within each length where the model's output has a time axis. */
export function weightsOf(model: Pick<Layer, 'output'>, batch: LayerBatch, dtype: FloatDType): Tensor | undefined {
  if (batch.weights !== undefined) return batch.weights
  const { sequenceLengths, labels } = batch
  if (!model.output.isSequence || sequenceLengths === null || sequenceLengths === undefined) return undefined
  return stepWeights(labels.shape[0], sequenceLengths, dtype)
}

/** Loss and gradients of one batch. Nothing is read, so that executors can queue a step as a whole. */
export async function modelGradients(
  model: WholeModel,
  batch: LayerBatch,
  loss: LossName,
): Promise<BatchResult & { readonly loss: BackendTensor }> {
  const backend = model.executor
  const { output, tape } = await model.call(batch.input, { sequenceLengths: batch.sequenceLengths })
  try {
    const result = lossOf(backend, loss, output, batch.labels, weightsOf(model, batch, backend.dtype))
    using _gradient = result.gradient
    try {
      const { input, variables } = await model.gradients(tape!, result.gradient)
      input?.dispose()
      return { loss: result.loss, gradients: variables }
    } catch (error) {
      result.loss.dispose()
      throw error
    }
  } finally {
    tape?.dispose()
    output.dispose()
  }
}
