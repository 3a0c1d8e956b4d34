import { elementCount, type Tensor } from '@cudnn-rnn/canonical'
import type { Communicator, Dataset, World } from '@cudnn-rnn/train'
import { type AnyBatch, type DataShape, type LayerBatch, type NamedBatch, rowsIn } from './batches.js'
import { isCtc } from './losses.js'
import type { ModelGraph } from '../model/model_graph.js'
import { isNamed, isNamedModel } from '../model/model_inputs.js'

/** The rows of every batch that this rank computes; all of them in one process. */
export function dataOfRank(
  batches: Dataset<AnyBatch>,
  shape: DataShape,
  communicator: Communicator | undefined,
): Dataset<AnyBatch> {
  if (communicator === undefined || communicator.size === 1) return batches
  return batches.shard(communicator, (batch, world) => shareOfBatch(batch, world, shape))
}

/** The rows from ⌊B·rank/size⌋ up to ⌊B·(rank+1)/size⌋ of B; `[]` if there are none, as `Dataset.shard` wants it. */
function shareOfBatch(given: AnyBatch, { rank, size }: World, { input, output, loss, graph }: DataShape): AnyBatch {
  const rows = rowsIn(graph, given)
  const [from, to] = [Math.floor((rows * rank) / size), Math.floor((rows * (rank + 1)) / size)]
  if (from === to) return [] as unknown as LayerBatch
  if (isNamedModel(graph)) return shareOfNamed(given as NamedBatch, from, to, graph)
  const [batch, axis] = [given as LayerBatch, Number(input.isSequence)]
  const { labels, labelLengths, sequenceLengths, weights, restarts } = batch
  const labelAxis = Number(output.isSequence && !isCtc(loss))
  return {
    input: rowsOf(batch.input, axis, from, to),
    labels: 'shape' in labels ? rowsOf(labels, labelAxis, from, to) : labels.slice(from, to),
    labelLengths: labelLengths?.slice(from, to),
    sequenceLengths: (sequenceLengths as Int32Array | null | undefined)?.slice(from, to),
    weights: weights && rowsOf(weights, Number(output.isSequence), from, to),
    restarts,
  }
}

function shareOfNamed(
  { input, labels, weights, sequenceLengths, restarts }: NamedBatch,
  from: number,
  to: number,
  { inputs, outputs }: ModelGraph,
): NamedBatch {
  const shared = (tensors: Readonly<Record<string, Tensor>>, parts: ModelGraph['inputs']) =>
    Object.fromEntries(
      parts.map(({ name, signal }) => [name, rowsOf(tensors[name], Number(signal.isSequence), from, to)]),
    )
  const lengths = isNamed<Int32Array | null>(sequenceLengths)
    ? Object.fromEntries(Object.entries(sequenceLengths).map(([name, own]) => [name, own?.slice(from, to) ?? null]))
    : (sequenceLengths as Int32Array | null | undefined)?.slice(from, to)
  return {
    ...{ input: shared(input, inputs), labels: shared(labels, outputs), sequenceLengths: lengths, restarts },
    weights: weights && shared(weights, outputs),
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
