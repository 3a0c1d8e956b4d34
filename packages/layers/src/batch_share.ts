import { elementCount, type Tensor } from '@cudnn-rnn/canonical'
import type { Communicator, Dataset, World } from '@cudnn-rnn/train'
import type { DataShape, LayerBatch } from './batches.js'
import { isCtc } from './losses.js'

/** The rows of every batch that this rank computes; all of them in one process. */
export function dataOfRank(
  batches: Dataset<LayerBatch>,
  shape: DataShape,
  communicator: Communicator | undefined,
): Dataset<LayerBatch> {
  if (communicator === undefined || communicator.size === 1) return batches
  return batches.shard(communicator, (batch, world) => shareOfBatch(batch, world, shape))
}

/** The rows from ⌊B·rank/size⌋ up to ⌊B·(rank+1)/size⌋ of B; `[]` if there are none, as `Dataset.shard` wants it. */
function shareOfBatch(batch: LayerBatch, { rank, size }: World, { input, output, loss }: DataShape): LayerBatch {
  const axis = Number(input.isSequence)
  const rows = batch.input.shape[axis]
  const [from, to] = [Math.floor((rows * rank) / size), Math.floor((rows * (rank + 1)) / size)]
  if (from === to) return [] as unknown as LayerBatch
  const { labels, labelLengths, sequenceLengths, weights, restarts } = batch
  const labelAxis = Number(output.isSequence && !isCtc(loss))
  return {
    input: rowsOf(batch.input, axis, from, to),
    labels: 'shape' in labels ? rowsOf(labels, labelAxis, from, to) : labels.slice(from, to),
    labelLengths: labelLengths?.slice(from, to),
    sequenceLengths: sequenceLengths?.slice(from, to),
    weights: weights && rowsOf(weights, Number(output.isSequence), from, to),
    restarts,
  }
}

/** The rows `from`..`to` of an axis. */
function rowsOf({ data, shape }: Tensor, axis: number, from: number, to: number): Tensor {
  const [outer, rows, inner] = [elementCount(shape.slice(0, axis)), shape[axis], elementCount(shape.slice(axis + 1))]
  const count = (to - from) * inner
  const share = data.slice(0, outer * count)
  for (let n = 0; n < outer; n++) {
    const start = (n * rows + from) * inner
    share.set(data.subarray(start, start + count) as never, n * count)
  }
  return { data: share, shape: shape.with(axis, to - from) } as Tensor
}
