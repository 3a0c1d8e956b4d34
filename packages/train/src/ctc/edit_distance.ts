import { describeValue } from '@cudnn-rnn/canonical'
import {
  checkOptions,
  codedRangeError,
  codedTypeError,
  FLAG,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'

/** Labels, characters or words. */
export type Sequence = ArrayLike<number | string>

const OPTIONS = {
  /** Whether the distance is divided by the truth's length. Default true. */
  normalize: optional(FLAG),
}

/**
 * Options of {@link editDistance}.
 *
 * @interface
 */
export type EditDistanceOptions = OptionsOf<typeof OPTIONS>

/**
 * TensorFlow's `tf.edit_distance` of one pair: the least number of insertions, deletions and substitutions that turn
 * `hypothesis` into `truth`, divided by the truth's length if `normalize` (the default). Against an empty truth the
 * normalized distance is ∞, or 0 if the hypothesis is empty, too.
 *
 * @throws TypeError `ERR_CTC_LABELS`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
 * @example
 * ```ts
 * import { editDistance } from '@cudnn-rnn/rnn/ctc'
 *
 * console.log(editDistance([...'kitten'], [...'sitting'], { normalize: false })) // 3
 * ```
 */
export function editDistance(hypothesis: Sequence, truth: Sequence, options: EditDistanceOptions = {}): number {
  const { normalize = true } = checkOptions('compute the edit distance', options, OPTIONS)
  const { edits, labels } = compared(hypothesis, truth)
  return normalize ? rateOf(edits, labels) : edits
}

/** Edits over labels: of an empty truth ∞, or 0 without edits. */
function rateOf(edits: number, labels: number): number {
  if (labels > 0) return edits / labels
  return edits > 0 ? Number.POSITIVE_INFINITY : 0
}

function compared(hypothesis: Sequence, truth: Sequence) {
  const own = copyOf('hypothesis', hypothesis)
  const labels = copyOf('truth', truth)
  return { edits: levenshtein(own, labels), labels: labels.length }
}

/** How often labels were read wrongly. */
export interface LabelErrors {
  /** edits / labels: the rate that character and word error rates mean. ∞ for edits against no labels. */
  readonly rate: number
  /** The mean of the normalized edit distances: `tf.reduce_mean(tf.edit_distance(…))`, the rate of Graves 2006. */
  readonly meanRate: number
  /** Insertions, deletions and substitutions of all pairs. */
  readonly edits: number
  /** Labels of all truths. */
  readonly labels: number
}

/**
 * The label error rate of a batch: of labels, characters (`[...text]`) or words (`text.split(' ')`).
 *
 * @throws RangeError `ERR_SHAPE` unless there is one hypothesis for each truth; TypeError `ERR_CTC_LABELS`
 * @example
 * ```ts
 * import { labelErrorRate } from '@cudnn-rnn/rnn/ctc'
 *
 * const { rate, edits, labels } = labelErrorRate([[...'kitten']], [[...'sitting']])
 * console.log(edits, labels, rate.toFixed(2)) // 3 7 0.43
 * ```
 */
export function labelErrorRate(hypotheses: readonly Sequence[], truths: readonly Sequence[]): LabelErrors {
  if (hypotheses?.length !== truths?.length || hypotheses === undefined) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot compute the label error rate as there must be one hypothesis for each truth (${describeValue(truths?.length)}): current number is ${describeValue(hypotheses?.length)}`,
      { argument: 'hypotheses', expected: truths?.length, actual: hypotheses?.length },
    )
  }
  const pairs = Array.from({ length: truths.length }, (_, index) => compared(hypotheses[index], truths[index]))
  let edits = 0
  let labels = 0
  let rates = 0
  for (const pair of pairs) {
    edits += pair.edits
    labels += pair.labels
    rates += rateOf(pair.edits, pair.labels)
  }
  return { rate: rateOf(edits, labels), meanRate: pairs.length === 0 ? 0 : rates / pairs.length, edits, labels }
}

function levenshtein(a: readonly (number | string)[], b: readonly (number | string)[]): number {
  let above = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = above[j - 1] + Number(a[i - 1] !== b[j - 1])
      row.push(Math.min(substituted, above[j] + 1, row[j - 1] + 1))
    }
    above = row
  }
  return above[b.length]
}

/** Most elements of a sequence: a row of the table takes 128 MiB. */
const MOST_ELEMENTS = 2 ** 24

/** The elements, each of which is read once. */
function copyOf(name: string, sequence: Sequence): (number | string)[] {
  try {
    const length: unknown = typeof sequence === 'object' && sequence !== null ? sequence.length : undefined
    if (Number.isSafeInteger(length) && Number(length) >= 0 && Number(length) <= MOST_ELEMENTS)
      return Array.from({ length: Number(length) }, (_, k) => sequence[k])
  } catch {
    // A proxy of a typed array has no length.
  }
  throw codedTypeError(
    'ERR_CTC_LABELS',
    `Cannot compute the edit distance as ${name} must be an array of at most ${MOST_ELEMENTS} elements: current value is ${describeValue(sequence)}. Spread a text: [...text].`,
    { argument: name },
  )
}
