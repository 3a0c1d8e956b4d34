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
  checkSequence('hypothesis', hypothesis)
  checkSequence('truth', truth)
  const edits = levenshtein(hypothesis, truth)
  if (!normalize) return edits
  if (truth.length > 0) return edits / truth.length
  return hypothesis.length > 0 ? Number.POSITIVE_INFINITY : 0
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
  let edits = 0
  let labels = 0
  let rates = 0
  for (let index = 0; index < truths.length; index++) {
    const truth = truths[index]
    const hypothesis = hypotheses[index]
    edits += editDistance(hypothesis, truth, { normalize: false })
    labels += truth.length
    rates += editDistance(hypothesis, truth)
  }
  const rate = labels > 0 ? edits / labels : edits > 0 ? Number.POSITIVE_INFINITY : 0
  return { rate, meanRate: truths.length === 0 ? 0 : rates / truths.length, edits, labels }
}

function levenshtein(a: Sequence, b: Sequence): number {
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

function checkSequence(name: string, sequence: Sequence): void {
  let length: unknown
  try {
    length = typeof sequence === 'object' && sequence !== null ? sequence.length : undefined
  } catch {
    // A proxy of a typed array has no length.
  }
  if (Number.isSafeInteger(length) && Number(length) >= 0 && Number(length) <= MOST_ELEMENTS) return
  throw codedTypeError(
    'ERR_CTC_LABELS',
    `Cannot compute the edit distance as ${name} must be an array of at most ${MOST_ELEMENTS} elements: current value is ${describeValue(sequence)}. Spread a text: [...text].`,
    { argument: name },
  )
}
