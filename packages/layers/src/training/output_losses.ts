import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import type { FloatDType } from '@cudnn-rnn/ops'
import { type GradientTape, type Value, withGradient } from '@cudnn-rnn/ops/executor'
import { ctcBlank, ctcGreedyDecoder, type CtcLabels, ctcLoss, labelErrorRate } from '@cudnn-rnn/train/ctc'
import type { ModelGraph } from '../model/model_graph.js'
import { isNamedModel, lengthsByInput } from '../model/model_inputs.js'
import type { Signal } from '../signal.js'
import { exampleError, joinedLabels, type LayerExample, labelSequences, READ_DATA, stepWeights } from './joined_rows.js'
import type { AnyBatch, LayerBatch, NamedBatch } from './layer_batch.js'
import {
  type CheckedLoss,
  countHits,
  type CtcLoss,
  ELEMENT_LOSSES,
  isCtc,
  isNamedLosses,
  type LossFunction,
  type OneLoss,
  type RowLossName,
} from './losses.js'
import { outputScores } from './output_scores.js'

/** A batch as the loss of one output sees it. */
interface OutputBatch {
  readonly output: Signal
  /** The labels and weights of the output; the whole batch of a model of one input and one output. */
  readonly batch: LayerBatch
  /** Steps of its rows; null if every row has all steps. */
  readonly lengths: Int32Array | null
}

/** A form of loss: the labels that it reads, its value, and the counts of an evaluation. */
interface LossRule {
  /** Whether labels have the time axis of the output. */
  readonly hasLabelsOfSteps: boolean
  /** Whether batches may have fields that only the caller's loss reads. */
  readonly takesAnyField?: boolean
  /** The metric beside the loss: `hits` over `of`. */
  readonly metric?: 'accuracy' | 'labelErrorRate' | undefined
  /** The labels of rows as a batch has them. Throws RangeError `ERR_EXAMPLE`. */
  joinLabels(
    labels: readonly LayerExample['label'][],
    output: Signal,
    lengths: Int32Array | null,
  ): Tensor | readonly Int32Array[]
  /** The loss on the tape of the output. Executors with a kernel for it read nothing. */
  record(t: GradientTape, output: Value, own: OutputBatch, all: Parameters<LossFunction>[3]): Value | Promise<Value>
  /** The denominator of the loss as a mean, of an output of this shape; 1 for a sum. */
  weight(shape: readonly number[], own: OutputBatch): number
  count(
    output: Tensor<FloatArray>,
    own: OutputBatch,
  ): { readonly rows: number; readonly hits: number; readonly of: number }
}

/** An output of a model and its loss. */
export interface OutputLoss {
  readonly name: string
  /** Begins the names of its metrics. */
  readonly prefix: string
  readonly rule: LossRule
  /** The output as its loss reads it. */
  readonly scores: (t: GradientTape, outputs: Readonly<Record<string, Value>>) => Value
}

/** The outputs of a model that have a loss, which must be checked; a loss without names belongs to the first. */
export function outputLosses(graph: ModelGraph, dtype: FloatDType, loss: CheckedLoss): readonly OutputLoss[] {
  const isNamed = isNamedLosses(loss)
  return (isNamed ? graph.outputs : graph.outputs.slice(0, 1)).map(({ name }, at) => {
    const own = isNamed ? loss[name] : loss
    const scores: OutputLoss['scores'] = (t, outputs) => outputScores(t, graph, at, own, outputs[name])
    return { name, prefix: isNamed ? `${name}_` : '', rule: ruleOf(own, dtype), scores }
  })
}

function ruleOf(loss: OneLoss, dtype: FloatDType): LossRule {
  if (typeof loss === 'function') return ownRule(loss, dtype)
  return isCtc(loss) ? ctcRule(loss) : rowRule(loss, dtype)
}

/** The part of a batch that belongs to one output. */
export function batchOfOutput(graph: ModelGraph, batch: AnyBatch, name: string): OutputBatch {
  const { inputs, outputs } = graph
  const k = outputs.findIndex((each) => each.name === name)
  const output = outputs[k].signal
  if (!isNamedModel(graph)) {
    const own = batch as LayerBatch
    const { sequenceLengths: given } = own
    const lengths = given === null || given === undefined ? null : graph.outputLengths([Int32Array.from(given)])[0]
    return { output, batch: own, lengths }
  }
  const { input, labels, labelLengths, weights, sequenceLengths, restarts } = batch as NamedBatch
  const values = inputs.map((each) => input[each.name])
  const lengths = graph.outputLengths(lengthsByInput(READ_DATA, inputs, values, sequenceLengths))[k]
  const own = { labels: labels[name], labelLengths: labelLengths?.[name], weights: weights?.[name] }
  return { output, batch: { input: values[0], ...{ sequenceLengths: lengths, restarts }, ...own }, lengths }
}

/** The loss of a model for a batch: the sum of its outputs' losses. */
export async function modelLoss(
  t: GradientTape,
  graph: ModelGraph,
  losses: readonly OutputLoss[],
  outputs: Readonly<Record<string, Value>>,
  batch: AnyBatch,
): Promise<Value> {
  let sum: Value | undefined
  for (const { name, rule, scores } of losses) {
    const all = { outputs, batch: batch as NamedBatch }
    const value = await rule.record(t, scores(t, outputs), batchOfOutput(graph, batch, name), all)
    sum = sum === undefined ? value : t.add(sum, value)
  }
  return sum as Value
}

/** A label for every row of the output, or for every step. */
function rowRule(loss: RowLossName, dtype: FloatDType): LossRule {
  const isOfClasses = loss === 'softmax_cross_entropy' || loss === 'sigmoid_cross_entropy'
  return {
    hasLabelsOfSteps: true,
    metric: isOfClasses ? 'accuracy' : undefined,
    joinLabels: (labels, output, lengths) => joinedLabels(labels, { output, dtype, loss }, lengths),
    record(t, output, own) {
      const [labels, weights] = [rowLabels(loss, own.batch), weightsOf(own, dtype)]
      return loss === 'softmax_cross_entropy'
        ? t.softmaxCrossEntropy(output, labels, weights)
        : t.elementLoss(output, labels, ELEMENT_LOSSES[loss], weights)
    },
    weight(shape, own) {
      const weights = weightsOf(own, dtype)
      if (weights === undefined) return elementCount(shape.slice(0, -1))
      return (weights.data as Float64Array).reduce((sum, weight) => sum + weight, 0)
    },
    count(output, own) {
      const weights = weightsOf(own, dtype) as Tensor<FloatArray> | undefined
      const { hits, total } = countHits(loss, output, rowLabels(loss, own.batch), weights)
      return { rows: total, hits, of: total }
    },
  }
}

/** Label sequences that are not aligned with the steps. */
function ctcRule(loss: CtcLoss): LossRule {
  return {
    hasLabelsOfSteps: false,
    metric: 'labelErrorRate',
    joinLabels: labelSequences,
    async record(t, output, { batch, lengths }) {
      if (batch.weights !== undefined) throw exampleError('a batch must have no weights for the loss ctc')
      const { name, ...settings } = loss
      const { labels, labelLengths } = batch
      const result = await ctcLoss(t.recording.backend, {
        logits: output.tensor,
        labels: labels as CtcLabels,
        labelLengths,
        logitLengths: lengths ?? undefined,
        ...settings,
      })
      result.rowLosses.dispose()
      return withGradient(t, name, output, result.loss, result.logitsGradient)
    },
    weight: (shape) => (loss.reduction === 'sum' ? 1 : (shape[1] ?? 1)),
    count(output, { batch, lengths }) {
      const truths = labelRows(batch)
      const { edits, labels } = labelErrorRate(greedyLabels(output, lengths, loss), truths)
      return { rows: truths.length, hits: edits, of: labels }
    },
  }
}

/** A loss of the caller's: a mean over the rows of the batch. */
function ownRule(loss: LossFunction, dtype: FloatDType): LossRule {
  const rowsOf = (shape: readonly number[], { output }: OutputBatch) => shape[Number(output.isSequence)]
  return {
    hasLabelsOfSteps: true,
    takesAnyField: true,
    joinLabels: (labels, output, lengths) => joinedLabels(labels, { output, dtype, loss: 'your loss' }, lengths),
    record: (t, output, { batch }, all) => loss(t, output, batch, all),
    weight: rowsOf,
    count: ({ shape }, own) => ({ rows: rowsOf(shape, own), hits: 0, of: 0 }),
  }
}

/** The labels of a batch for a loss that has one for every row. Throws `ERR_EXAMPLE` for label sequences. */
function rowLabels(loss: RowLossName, { labels, labelLengths }: LayerBatch): Tensor {
  if (!Array.isArray(labels) && labelLengths === undefined) return labels as Tensor
  const given = labelLengths === undefined ? 'a list of label sequences' : 'labels with labelLengths'
  throw exampleError(`the labels of a batch must be one tensor for ${loss}: current value is ${given}`)
}

/** Weights of a batch's rows: its own, else 1 within each length if the output has a time axis. */
function weightsOf({ output, batch, lengths }: OutputBatch, dtype: FloatDType): Tensor | undefined {
  const { weights, labels } = batch
  if (weights !== undefined || !output.isSequence || lengths === null) return weights
  return stepWeights((labels as Tensor).shape[0], lengths, dtype)
}

/** The label sequences of a batch for CTC, one per row. */
export function labelRows({ labels, labelLengths }: LayerBatch): readonly ArrayLike<number>[] {
  if (Array.isArray(labels)) return labels
  const { data, shape } = labels as Tensor<Int32Array>
  const [batch, columns] = shape as [number, number]
  return Array.from({ length: batch }, (_, row) =>
    data.subarray(row * columns, row * columns + (labelLengths?.[row] ?? columns)),
  )
}

/** The labels that the likeliest class of every step spells. */
export function greedyLabels(
  logits: Tensor<FloatArray>,
  lengths: readonly number[] | Int32Array | null,
  loss: CtcLoss,
): readonly number[][] {
  const blank = ctcBlank('decode', loss, logits.shape[logits.shape.length - 1])
  return ctcGreedyDecoder(logits, lengths, { blank, mergeRepeated: loss.ctcMergeRepeated }).decoded
}
