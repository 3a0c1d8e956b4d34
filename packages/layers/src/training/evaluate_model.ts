import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import {
  abortable,
  abortableItems,
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  optional,
  type OptionsOf,
  SIGNAL,
} from '@cudnn-rnn/canonical/rules'
import { type GradientTape, onTape, Recording, type Value } from '@cudnn-rnn/ops/executor'
import { type Communicator, isEmptyShare } from '@cudnn-rnn/train'
import { ctcBlank, ctcGreedyDecoder, labelErrorRate } from '@cudnn-rnn/train/ctc'
import { CarriedStates } from '../model/carried_states.js'
import { passOptions } from '../model/model_pass.js'
import type { WholeModel } from '../model/whole_model.js'
import { batchLoss, lossesOf, outputLengths, type OutputOfModel, rowLabels, weightsOf } from './batch_loss.js'
import { dataOfRank } from './batch_share.js'
import {
  type AnyBatch,
  batchesOf,
  batchOfOutput,
  exampleError,
  type LayerBatch,
  type LayerData,
  type NamedBatch,
} from './batches.js'
import { checkLoss, countHits, type CtcLoss, isCtc, type Loss, type OneLoss } from './losses.js'

const ACTION = 'evaluate'

// Checked by `checkLoss` and by those that read the data.
const OPTIONS = {
  /** Default: the loss that the model was trained with. */
  loss: checkedElsewhere<Loss | undefined>(),
  /** Rows of a batch, if the data are examples. Default 32 for an array of them. */
  batchSize: checkedElsewhere<number | undefined>(),
  /** Evaluates over its ranks, each its rows of every batch; all get the metrics of all rows. */
  communicator: checkedElsewhere<Communicator | undefined>(),
  /** Once it is aborted, the evaluation rejects with its reason, wherever it waits. */
  signal: optional(SIGNAL),
}

export interface EvaluateOptions extends OptionsOf<typeof OPTIONS> {}

export type ModelMetrics = {
  readonly [name: string]: number
  /** Mean over all rows that count. */
  readonly loss: number
}

/** `LayersModel.evaluate` */
export async function evaluateModel(
  model: WholeModel,
  data: LayerData,
  options: EvaluateOptions,
): Promise<ModelMetrics> {
  checkOptions(ACTION, options, OPTIONS)
  if (options.loss === undefined && model.loss === undefined) {
    throw codedRangeError(
      'ERR_NO_LOSS',
      'Cannot evaluate as the loss must be given of a model that was not trained: current loss is undefined',
    )
  }
  const loss = checkLoss(ACTION, options.loss ?? model.loss, model)
  const shape = { graph: model.graph, dtype: model.executor.dtype, loss }
  const { signal } = options
  const losses = lossesOf(model, loss)
  const totals = losses.map(() => ({ loss: 0, rows: 0, hits: 0, edits: 0, labels: 0 }))
  let carried: CarriedStates | undefined
  try {
    const batches = batchesOf(data, { batchSize: options.batchSize }, shape)
    for await (const batch of abortableItems(signal, dataOfRank(batches, shape, options.communicator))) {
      if (isEmptyShare(batch)) continue
      carried ??= CarriedStates.for(model, batch)
      const counted = await abortable(signal, countBatch(model, losses, batch, carried))
      for (const [k, own] of totals.entries()) for (const name of COUNTS) own[name] += counted[k][name]
    }
  } finally {
    carried?.dispose()
  }
  const sums = Float64Array.from(totals.flatMap((own) => COUNTS.map((name) => own[name])))
  await options.communicator?.allReduce(sums)
  const metrics = losses.map(({ prefix, loss }, k) => {
    const [sum, rows, hits, edits, labels] = sums.subarray(k * COUNTS.length)
    if (rows === 0) throw exampleError('there must be at least one row that counts: current number is 0')
    const isOfClasses = loss === 'softmax_cross_entropy' || loss === 'sigmoid_cross_entropy'
    return {
      [`${prefix}loss`]: sum / rows,
      ...(isOfClasses && { [`${prefix}accuracy`]: hits / rows }),
      ...(isCtc(loss) && { [`${prefix}labelErrorRate`]: edits / Math.max(1, labels) }),
    }
  })
  const all: Record<string, number> = Object.assign({}, ...metrics)
  return { loss: losses.reduce((sum, { prefix }) => sum + all[`${prefix}loss`], 0), ...all }
}

const COUNTS = ['loss', 'rows', 'hits', 'edits', 'labels'] as const

/** The sum of a batch's losses over the rows that count; rows that are right; of label sequences, edits and labels. */
function countBatch(
  model: WholeModel,
  losses: ReturnType<typeof lossesOf>,
  batch: AnyBatch,
  carried: CarriedStates | undefined,
): Promise<readonly Readonly<Record<(typeof COUNTS)[number], number>>[]> {
  return onTape(new Recording(model.executor, [], false), async (t) => {
    const { outputs, states = [] } = await model.record(t, batch.input, passOptions(batch, carried))
    carried?.keep(states.map(({ tensor }) => tensor))
    const counts: Awaited<ReturnType<typeof countOutput>>[] = []
    for (const [k, own] of losses.entries()) {
      const all = { outputs, batch: batch as NamedBatch }
      counts.push(
        await countOutput(t, own.view, own.loss, outputs[own.name], batchOfOutput(model.graph, batch, k), all),
      )
    }
    return counts
  })
}

async function countOutput(
  t: GradientTape,
  model: OutputOfModel,
  loss: OneLoss,
  output: Value,
  batch: LayerBatch,
  all: Parameters<typeof batchLoss>[5],
) {
  const mean = t.recording.result(ACTION, await batchLoss(t, model, loss, output, batch, all))
  const [value, values] = [(await mean.read()).data[0], await output.read()]
  if (isCtc(loss)) {
    const truths = labelRows(batch)
    const lengths = outputLengths(model, batch.sequenceLengths)
    const { edits, labels } = labelErrorRate(greedyLabels(values, lengths, loss), truths)
    const rows = truths.length
    return { loss: loss.reduction === 'sum' ? value : value * rows, rows, hits: 0, edits, labels }
  }
  if (typeof loss === 'function') {
    const rows = values.shape[Number(model.output.isSequence)]
    return { loss: value * rows, rows, hits: 0, edits: 0, labels: 0 }
  }
  const weights = weightsOf(model, batch, model.executor.dtype) as Tensor<FloatArray> | undefined
  const { hits, total } = countHits(loss, values, rowLabels(loss, batch), weights)
  // A batch without a row that counts has a loss of 0.
  return { loss: value * total, rows: total, hits, edits: 0, labels: 0 }
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
