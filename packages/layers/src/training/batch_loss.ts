import type { Tensor } from '@cudnn-rnn/canonical'
import type { FloatDType } from '@cudnn-rnn/ops'
import { type GradientTape, type Value, withGradient } from '@cudnn-rnn/ops/executor'
import { type CtcLabels, ctcLoss } from '@cudnn-rnn/train/ctc'
import { type AnyBatch, batchOfOutput, exampleError, type LayerBatch, type NamedBatch, stepWeights } from './batches.js'
import { type CheckedLoss, ELEMENT_LOSSES, isCtc, isNamedLosses, type OneLoss, type RowLossName } from './losses.js'
import type { WholeModel } from '../model/whole_model.js'

/** One output of a model, as its loss sees it. */
export type OutputOfModel = Pick<WholeModel, 'output' | 'outputLengths' | 'executor'>

/** The outputs of a model with their names and losses; batches of one output of several have its lengths. */
export function lossesOf(model: WholeModel, loss: CheckedLoss) {
  const { outputs } = model.graph
  if (!isNamedLosses(loss)) return [{ name: outputs[0].name, prefix: '', view: model as OutputOfModel, loss }]
  return outputs.map(({ name, signal }) => {
    const view: OutputOfModel = { output: signal, executor: model.executor, outputLengths: (lengths) => lengths }
    return { name, prefix: `${name}_`, view, loss: loss[name] as OneLoss }
  })
}

/** The loss of a model for a batch: the sum of its outputs' losses. */
export async function modelLoss(
  t: GradientTape,
  model: WholeModel,
  loss: CheckedLoss,
  outputs: Readonly<Record<string, Value>>,
  batch: AnyBatch,
): Promise<Value> {
  let sum: Value | undefined
  for (const [k, own] of lossesOf(model, loss).entries()) {
    const all = { outputs, batch: batch as NamedBatch }
    const value = await batchLoss(t, own.view, own.loss, outputs[own.name], batchOfOutput(model.graph, batch, k), all)
    sum = sum === undefined ? value : t.add(sum, value)
  }
  return sum as Value
}

/** The loss of a model's output for a batch, on the tape of the output. Executors with a kernel for it read nothing. */
export async function batchLoss(
  t: GradientTape,
  model: OutputOfModel,
  loss: OneLoss,
  output: Value,
  batch: LayerBatch,
  all: Parameters<Extract<OneLoss, (...given: never) => unknown>>[3],
): Promise<Value> {
  if (typeof loss === 'function') return loss(t, output, batch, all)
  if (!isCtc(loss)) {
    const [labels, weights] = [rowLabels(loss, batch), weightsOf(model, batch, model.executor.dtype)]
    return loss === 'softmax_cross_entropy'
      ? t.softmaxCrossEntropy(output, labels, weights)
      : t.elementLoss(output, labels, ELEMENT_LOSSES[loss], weights)
  }
  if (batch.weights !== undefined) throw exampleError('a batch must have no weights for the loss ctc')
  const { name, ...settings } = loss
  const { labels, labelLengths } = batch
  const result = await ctcLoss(model.executor, {
    logits: output.tensor,
    labels: labels as CtcLabels,
    labelLengths,
    logitLengths: outputLengths(model, batch.sequenceLengths) ?? undefined,
    ...settings,
  })
  result.rowLosses.dispose()
  return withGradient(t, name, output, result.loss, result.logitsGradient)
}

/** The labels of a batch for a loss that has one for every row. Throws `ERR_EXAMPLE` for label sequences. */
export function rowLabels(loss: RowLossName, { labels, labelLengths }: LayerBatch): Tensor {
  if (!Array.isArray(labels) && labelLengths === undefined) return labels as Tensor
  const given = labelLengths === undefined ? 'a list of label sequences' : 'labels with labelLengths'
  throw exampleError(`the labels of a batch must be one tensor for ${loss}: current value is ${given}`)
}

/** The lengths of a model's output, given a batch's; null if every row has all steps. */
export function outputLengths(
  model: Pick<WholeModel, 'outputLengths'>,
  lengths: LayerBatch['sequenceLengths'],
): Int32Array | null {
  return lengths === null || lengths === undefined ? null : model.outputLengths(Int32Array.from(lengths as Int32Array))
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
