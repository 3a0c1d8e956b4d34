import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { ctcBlank, ctcGreedyDecoder } from '@cudnn-rnn/train/ctc'
import type { LayerBatch } from './batches.js'
import type { CtcLoss } from './losses.js'

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
