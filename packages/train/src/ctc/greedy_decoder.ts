import { checkedElsewhere, checkOptions, FLAG, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { Blank } from './blank.js'
import { checkDecoderArguments } from './decoder_arguments.js'

const ACTION = 'decode greedily'
const OPTIONS = {
  /** Default true: a class that wins several frames in a row is one label. */
  mergeRepeated: optional(FLAG),
  // Checked with the logits, which have the number of classes.
  /** Default `last`. */
  blank: checkedElsewhere<Blank | undefined>(),
}

/** Options of {@link ctcGreedyDecoder}. */
export interface GreedyDecoderOptions extends OptionsOf<typeof OPTIONS> {}

export interface GreedyDecoderResult {
  /** The labels of each row. */
  readonly decoded: readonly number[][]
  /** [B], minus the sum of each frame's largest logit. It is the path's -ln p for log-probabilities only. */
  readonly negSumLogits: FloatArray
}

/**
 * TensorFlow's `ctc_greedy_decoder`: the best class of every frame (the first of equals), repeats merged, blanks dropped.
 *
 * @param logits [T,B,K] on the host.
 * @param sequenceLength [B]; null for T in every row.
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_UNKNOWN_OPTION`,
 *   `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_CTC_BLANK`, `ERR_CTC_LOGITS`
 *   for NaN
 * @example
 * ```ts
 * import { ctcGreedyDecoder } from '@cudnn-rnn/rnn/ctc'
 *
 * // Four frames of labels 0 and 1 and the blank, 2: 0, 0, blank, 1.
 * const logits = { data: Float32Array.of(9, 0, 0, 9, 0, 0, 0, 0, 9, 0, 9, 0), shape: [4, 1, 3] } // [T,B,K]
 * console.log(ctcGreedyDecoder(logits, null).decoded) // [[0, 1]]
 * ```
 */
export function ctcGreedyDecoder(
  logits: Tensor,
  sequenceLength: readonly number[] | Int32Array | null,
  options: GreedyDecoderOptions = {},
): GreedyDecoderResult {
  const { mergeRepeated = true, blank: blankOption = 'last' } = checkOptions(ACTION, options, OPTIONS)
  const { data, batch, classes, lengths, blank } = checkDecoderArguments(ACTION, logits, sequenceLength, blankOption)
  const negSumLogits = new (data instanceof Float64Array ? Float64Array : Float32Array)(batch)
  const decoded = Array.from(lengths, (length, row) => {
    const labels: number[] = []
    let before = -1
    for (let t = 0; t < length; t++) {
      const at = (t * batch + row) * classes
      let best = 0
      for (let k = 1; k < classes; k++) if (data[at + k] > data[at + best]) best = k
      negSumLogits[row] -= data[at + best]
      if (best !== blank && !(mergeRepeated && best === before)) labels.push(best)
      before = best
    }
    return labels
  })
  return { decoded, negSumLogits }
}
