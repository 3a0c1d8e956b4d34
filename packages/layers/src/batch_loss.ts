import type { BackendTensor, FloatDType } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'
import { type CtcLabels, ctcLoss } from '@cudnn-rnn/ctc'
import { handleOf, Recording } from '@cudnn-rnn/executor-kit'
import { exampleError, type LayerBatch, stepWeights } from './batches.js'
import { type CheckedLoss, isCtc, type LossFunction, type LossResult, lossOf, type RowLossName } from './losses.js'
import type { WholeModel } from './whole_model.js'

/** The loss of a model's output for a batch. Executors with a kernel for it read nothing. */
export async function batchLoss(
  model: WholeModel,
  loss: CheckedLoss,
  output: BackendTensor,
  batch: LayerBatch,
): Promise<LossResult> {
  const { executor: backend } = model
  if (typeof loss === 'function') return recordedLoss(model, loss, output, batch)
  if (!isCtc(loss)) return lossOf(backend, loss, output, rowLabels(loss, batch), weightsOf(model, batch, backend.dtype))
  if (batch.weights !== undefined) throw exampleError('a batch must have no weights for the loss ctc')
  const { name: _, ...settings } = loss
  const { labels, labelLengths } = batch
  const result = await ctcLoss(backend, {
    ...settings,
    logits: output,
    labels: labels as CtcLabels,
    labelLengths,
    logitLengths: outputLengths(model, batch.sequenceLengths) ?? undefined,
  })
  result.rowLosses.dispose()
  return { loss: result.loss, gradient: result.logitsGradient }
}

/** A loss of the caller, on its own tape. */
async function recordedLoss(
  { executor }: WholeModel,
  loss: LossFunction,
  value: BackendTensor,
  batch: LayerBatch,
): Promise<LossResult> {
  const output = { name: 'output', value }
  const recording = new Recording(executor, [output])
  try {
    const t = handleOf(recording)
    const result = await loss(t, t.value(output), batch)
    await recording.differentiate(result)
    return { loss: recording.take(result), gradient: recording.gradientOf(output) }
  } finally {
    await recording.end()
  }
}

/** The labels of a batch for a loss that has one for every row. Throws `ERR_EXAMPLE` for label sequences. */
export function rowLabels(loss: RowLossName, { labels, labelLengths }: LayerBatch): Tensor {
  if (!Array.isArray(labels) && labelLengths === undefined) return labels as Tensor
  const given = labelLengths === undefined ? 'a list of label sequences' : 'labels with labelLengths'
  throw exampleError(`the labels of a batch must be one tensor for ${loss}: current value is ${given}`)
}

/** The lengths of a model's output, given those of a batch; null where every row has all steps. */
export function outputLengths(
  model: Pick<WholeModel, 'outputLengths'>,
  lengths: LayerBatch['sequenceLengths'],
): Int32Array | null {
  return lengths === null || lengths === undefined ? null : model.outputLengths(Int32Array.from(lengths))
}

/** Weights of a batch's rows: its own, else 1 within each length where the model's output has a time axis. */
export function weightsOf(
  model: Pick<WholeModel, 'output' | 'outputLengths'>,
  { weights, sequenceLengths, labels }: LayerBatch,
  dtype: FloatDType,
): Tensor | undefined {
  if (weights !== undefined) return weights
  const lengths = outputLengths(model, sequenceLengths)
  if (!model.output.isSequence || lengths === null) return undefined
  return stepWeights((labels as Tensor).shape[0], lengths, dtype)
}
