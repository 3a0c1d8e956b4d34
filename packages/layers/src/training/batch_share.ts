import { elementCount, type Tensor } from '@cudnn-rnn/canonical'
import type { Communicator, Dataset, World } from '@cudnn-rnn/train'
import { type AnyBatch, type DataShape, type LayerBatch, type NamedBatch, rowsIn } from './batches.js'
import { isCtc } from './losses.js'
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

/** The rows from ⌊B·rank/size⌋ up to ⌊B·(rank+1)/size⌋ of B; `[]` if there are none, as `Dataset.shard` wants it. */
function shareOfBatch(batch: AnyBatch, { rank, size }: World, { graph, loss }: DataShape): AnyBatch {
  const rows = rowsIn(graph, batch)
  const [from, to] = [Math.floor((rows * rank) / size), Math.floor((rows * (rank + 1)) / size)]
  if (from === to) return [] as unknown as LayerBatch
  const isNamed = isNamedModel(graph)
  const shared = (tensors: unknown, parts: ModelGraph['inputs']): unknown => {
    if (Array.isArray(tensors)) return tensors.slice(from, to)
    const shares = parts.map(({ name, signal }) => {
      const own = isNamed ? (tensors as NamedBatch['input'])[name] : (tensors as Tensor)
      return [name, rowsOf(own, Number(signal.isSequence), from, to)] as const
    })
    return isNamed ? Object.fromEntries(shares) : shares[0][1]
  }
  const { inputs, outputs } = graph
  const { input, labels, sequenceLengths, weights, restarts } = batch
  const { labelLengths } = batch as LayerBatch
  const lengths = isByName<Int32Array | null>(sequenceLengths)
    ? Object.fromEntries(Object.entries(sequenceLengths).map(([name, own]) => [name, own?.slice(from, to) ?? null]))
    : (sequenceLengths as Int32Array | null | undefined)?.slice(from, to)
  // CTC has a label sequence for each row.
  const labeled = outputs.map(({ name, signal }) => {
    return { name, signal: { ...signal, isSequence: signal.isSequence && !isCtc(loss) } }
  })
  return {
    ...{ input: shared(input, inputs), labels: shared(labels, labeled), sequenceLengths: lengths, restarts },
    ...{ weights: weights && shared(weights, outputs), labelLengths: labelLengths?.slice(from, to) },
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
