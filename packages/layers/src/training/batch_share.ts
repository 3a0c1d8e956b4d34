import { elementCount, type Tensor } from '@cudnn-rnn/canonical'
import type { Communicator, Dataset, World } from '@cudnn-rnn/train'
import { type DataShape, rowsIn } from './batches.js'
import type { AnyBatch, LayerBatch, NamedBatch } from './layer_batch.js'
import type { ModelGraph } from '../model/model_graph.js'
import { isNamed as isByName, isNamedModel } from '../model/model_inputs.js'

/** The rows of every batch that this rank computes; all of them in one process. */
export function dataOfRank(
  batches: Dataset<AnyBatch>,
  shape: DataShape,
  communicator: Communicator | undefined,
): Dataset<AnyBatch> {
  if (communicator === undefined || communicator.size === 1) return batches
  return batches.shard(communicator, (batch, world) => shareOfBatch(batch, world, shape))
}

/** The rows from ⌊B·rank/size⌋ up to ⌊B·(rank+1)/size⌋ of B; `[]` if there are none, as `Dataset.shard` requires. */
function shareOfBatch(batch: AnyBatch, { rank, size }: World, { graph, losses }: DataShape): AnyBatch {
  const rows = rowsIn(graph, batch)
  const [from, to] = [Math.floor((rows * rank) / size), Math.floor((rows * (rank + 1)) / size)]
  if (from === to) return [] as unknown as LayerBatch
  const isNamed = isNamedModel(graph)
  const shared = (tensors: unknown, parts: ModelGraph['inputs']): unknown => {
    const shares = parts.map(({ name, signal }) => {
      const own = isNamed ? (tensors as NamedBatch['labels'])[name] : (tensors as LayerBatch['labels'])
      const share = 'shape' in own ? rowsOf(own, Number(signal.isSequence), from, to) : own.slice(from, to)
      return [name, share] as const
    })
    return isNamed ? Object.fromEntries(shares) : shares[0][1]
  }
  const { inputs, outputs } = graph
  const { input, labels, labelLengths, sequenceLengths, weights, restarts } = batch
  const lengthsOf = (lengths: AnyBatch['sequenceLengths'] | AnyBatch['labelLengths']) =>
    isByName<Int32Array | null | undefined>(lengths)
      ? Object.fromEntries(Object.entries(lengths).map(([name, own]) => [name, own?.slice(from, to) ?? own]))
      : (lengths as Int32Array | null | undefined)?.slice(from, to)
  const labeled = outputs.map(({ name, signal }, k) => {
    const { rule } = losses[k] ?? losses[0]
    return { name, signal: { ...signal, isSequence: signal.isSequence && rule.hasLabelsOfSteps } }
  })
  return {
    ...{ input: shared(input, inputs), labels: shared(labels, labeled), sequenceLengths: lengthsOf(sequenceLengths) },
    ...{ restarts, weights: weights && shared(weights, outputs), labelLengths: lengthsOf(labelLengths) },
  } as AnyBatch
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
