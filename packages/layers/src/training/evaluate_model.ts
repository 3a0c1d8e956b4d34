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
import { onTape, Recording } from '@cudnn-rnn/ops/executor'
import { type Communicator, isEmptyShare } from '@cudnn-rnn/train'
import { CarriedStates } from '../model/carried_states.js'
import { passOptions } from '../model/model_pass.js'
import type { WholeModel } from '../model/whole_model.js'
import { dataOfRank } from './batch_share.js'
import { batchesOf, type LayerData } from './batches.js'
import { exampleError } from './joined_rows.js'
import type { AnyBatch, NamedBatch } from './layer_batch.js'
import { checkLoss, type Loss } from './losses.js'
import { batchOfOutput, type OutputLoss, outputLosses } from './output_losses.js'

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
  const given = checkOptions(ACTION, options, OPTIONS)
  if (given.loss === undefined && model.loss === undefined) {
    throw codedRangeError(
      'ERR_NO_LOSS',
      'Cannot evaluate as the loss must be given of a model that was not trained: current loss is undefined',
    )
  }
  const loss = checkLoss(ACTION, given.loss ?? model.loss, model)
  const losses = outputLosses(model.graph, model.executor.dtype, loss)
  const shape = { graph: model.graph, dtype: model.executor.dtype, losses }
  const { signal } = given
  const totals = losses.map(() => ({ loss: 0, rows: 0, hits: 0, of: 0 }))
  let carried: CarriedStates | undefined
  try {
    const batches = batchesOf(data, { batchSize: given.batchSize }, shape)
    for await (const batch of abortableItems(signal, dataOfRank(batches, shape, given.communicator))) {
      if (isEmptyShare(batch)) continue
      carried ??= CarriedStates.for(model, batch)
      const counted = await abortable(signal, countBatch(model, losses, batch, carried))
      for (const [k, own] of totals.entries()) for (const name of COUNTS) own[name] += counted[k][name]
    }
  } finally {
    carried?.dispose()
  }
  const sums = Float64Array.from(totals.flatMap((own) => COUNTS.map((name) => own[name])))
  await given.communicator?.allReduce(sums)
  let all = 0
  const metrics: Record<string, number> = {}
  for (const [k, { prefix, rule }] of losses.entries()) {
    const [sum, rows, hits, of] = sums.subarray(k * COUNTS.length)
    if (rows === 0) throw exampleError('there must be at least one row that counts: current number is 0')
    all += sum / rows
    metrics[`${prefix}loss`] = sum / rows
    // Texts of no labels have as many errors as edits.
    if (rule.metric !== undefined) metrics[`${prefix}${rule.metric}`] = hits / (of || 1)
  }
  return { ...metrics, loss: all }
}

const COUNTS = ['loss', 'rows', 'hits', 'of'] as const

type Counts = Record<(typeof COUNTS)[number], number>

/** The sum of a batch's losses for each output, over the rows that count, and the parts of its metric. */
function countBatch(
  model: WholeModel,
  losses: readonly OutputLoss[],
  batch: AnyBatch,
  carried: CarriedStates | undefined,
): Promise<readonly Readonly<Counts>[]> {
  return onTape(new Recording(model.executor, [], false), async (t) => {
    const { outputs, states = [] } = await model.record(t, batch.input, passOptions(batch, carried))
    carried?.keep(states.map(({ tensor }) => tensor))
    const counts: Counts[] = []
    for (const { name, rule, scores } of losses) {
      const [own, output] = [batchOfOutput(model.graph, batch, name), scores(t, outputs)]
      const value = await rule.record(t, output, own, { outputs, batch: batch as NamedBatch })
      const mean = t.recording.result(ACTION, value)
      const [[loss], values] = [(await mean.read()).data, await output.read()]
      // A batch without a row that counts has a loss of 0.
      counts.push({ loss: loss * rule.weight(values.shape, own), ...rule.count(values, own) })
    }
    return counts
  })
}
