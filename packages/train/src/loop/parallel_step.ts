import { isBackendTensor } from '@cudnn-rnn/backend'
import { isEmptyShare } from '../data/shard_stage.js'
import { clipGradients } from './clip_gradients.js'
import { checkedResult, weightOf } from './gradient_accumulator.js'
import type { Ranks } from './ranks.js'
import type { StepOutcome, TrainingStep, TrainingStepOptions } from './training_step.js'

/**
 * As `trainingStep`, over all ranks: each adds the gradients of its share, one all-reduce sums them with the loss and the
 * flags, and each makes the same update.
 *
 * @param batches this rank's shares; none at the end of its data
 * @returns undefined at the end of the data
 */
export async function parallelStep<Batch>(
  options: TrainingStepOptions<Batch>,
  ranks: Ranks,
  batches: readonly Batch[],
  learningRate: number,
  isStopping: () => boolean,
): Promise<{ readonly work: TrainingStep; readonly isStopping: boolean } | undefined> {
  const { backend, optimizer } = options
  ranks.clear()
  await ranks.attempt(async () => {
    for (const batch of batches) if (!isEmptyShare(batch)) await addBatch(options, ranks, batch)
  })
  const reduced = await ranks.reduce({ isStopping: isStopping(), isOutOfData: batches.length === 0 })
  if (reduced.isOutOfData) return undefined
  using norm = clipGradients(backend, ranks.gradients, options)
  const gradientNorm = (await norm.read()).data[0]
  const { loss } = reduced
  const outcome: StepOutcome = {
    loss,
    gradientNorm,
    skipped: !(Number.isFinite(gradientNorm) && Number.isFinite(loss)),
  }
  if (!outcome.skipped) optimizer.apply(ranks.gradients, learningRate)
  return { work: { outcome: async () => outcome }, isStopping: reduced.isStopping }
}

async function addBatch<Batch>(
  { batchGradients }: TrainingStepOptions<Batch>,
  ranks: Ranks,
  batch: Batch,
): Promise<void> {
  const result = checkedResult(await batchGradients(batch))
  const tensors = [result.loss, ...result.gradients].filter(isBackendTensor)
  try {
    const loss = isBackendTensor(result.loss) ? (await result.loss.read()).data[0] : result.loss
    await ranks.add(loss, result.gradients, weightOf(batch, result))
  } finally {
    for (const tensor of tensors) tensor.dispose()
  }
}
