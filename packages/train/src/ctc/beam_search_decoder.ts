import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import {
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  FLAG,
  integerFrom,
  integerIn,
  methods,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import { logAddExp, logSoftmaxInto } from '@cudnn-rnn/ops/executor'
import type { Blank } from './blank.js'
import { checkDecoderArguments } from './decoder_arguments.js'
import { KeptPrefixes } from './kept_prefixes.js'
import { endScore, type PrefixScorer } from './prefix_scorer.js'
import { NO_MASS, type PrefixMass, PrefixNode } from './prefix_tree.js'

const ACTION = 'decode by beam search'
const OPTIONS = {
  /** Prefixes kept per step, 1..65536; default 100. */
  beamWidth: optional(integerIn(1, 65_536)),
  /** Paths returned per row, best first; default 1, at most the beam width. */
  topPaths: optional(integerFrom(1)),
  /**
   * Default true, as in `tf.nn.ctc_beam_search_decoder` of TensorFlow 1: equal neighbors of the *result* are merged, so
   * that double letters are lost. False keeps them, as TensorFlow 2 always does.
   */
  mergeRepeated: optional(FLAG),
  // Checked with the logits, which have the number of classes.
  /** Default `last`. */
  blank: checkedElsewhere<Blank | undefined>(),
}
const SCORER = optional(methods('an object with a method extend', 'extend'))

/** Options of {@link ctcBeamSearchDecoder}. */
export interface BeamSearchDecoderOptions<State> extends OptionsOf<typeof OPTIONS> {
  /** Scores prefixes beside the logits. Default none. */
  readonly scorer?: PrefixScorer<State> | undefined
}

/** The labels of each row. */
type Labels = (readonly number[])[]

export interface BeamSearchDecoderResult {
  /** [topPaths][B]: `decoded[p][b]` are the labels of row b's path p. There is one path or more. */
  readonly decoded: readonly [Labels, ...Labels[]]
  /** [B,topPaths], natural logarithms, with the scores that the scorer added. */
  readonly logProbabilities: Tensor<FloatArray>
}

/**
 * TensorFlow's `ctc_beam_search_decoder`: a prefix search (Graves 2012, "Supervised Sequence Labelling with Recurrent
 * Neural Networks", section 7.5.3) that adds up all paths of a prefix and keeps the `beamWidth` likeliest.
 *
 * @param logits [T,B,K] on the host; softmax is applied (as from TensorFlow 1.11 on).
 * @param sequenceLength [B]; null for T in every row.
 * @throws as `ctcGreedyDecoder`; TypeError `ERR_CTC_SCORER` for a wrong result of a scorer; RangeError
 *   `ERR_INVALID_OPTION`, and `ERR_TOP_PATHS` if a row has fewer prefixes than
 *   `topPaths` (a row of length 0 has one)
 * @example
 * ```ts
 * import { ctcBeamSearchDecoder } from '@cudnn-rnn/rnn/ctc'
 *
 * // Two frames of labels 0 and 1 and the blank: blank is best in both, yet label 0 is likelier than no label.
 * const logits = { data: Float32Array.from([0.4, 0, 0.6, 0.4, 0, 0.6], Math.log), shape: [2, 1, 3] }
 * console.log(ctcBeamSearchDecoder(logits, null).decoded) // [[[0]]]
 * ```
 */
export function ctcBeamSearchDecoder<State = undefined>(
  logits: Tensor,
  sequenceLength: readonly number[] | Int32Array | null,
  options: BeamSearchDecoderOptions<State> = {},
): BeamSearchDecoderResult {
  const given = checkOptions(ACTION, options, { ...OPTIONS, scorer: SCORER })
  const { beamWidth = 100, topPaths = 1, mergeRepeated = true, blank: blankOption = 'last', scorer } = given
  if (topPaths > beamWidth) throw tooFewPaths(topPaths, beamWidth, 'the beam width')
  const { data, batch, classes, lengths, blank } = checkDecoderArguments(ACTION, logits, sequenceLength, blankOption)
  const logProbabilities = new (data instanceof Float64Array ? Float64Array : Float32Array)(batch * topPaths)
  const decoded = Array.from({ length: topPaths }, (): Labels => new Array(batch)) as [Labels, ...Labels[]]
  for (const [row, length] of lengths.entries()) {
    const beam = new Beam(beamWidth, scorer ?? (NO_SCORER as PrefixScorer<State>), blank)
    const logY = new Float64Array(classes)
    for (let t = 0; t < length; t++) {
      logSoftmaxInto(logY, data, (t * batch + row) * classes)
      beam.advance(logY)
    }
    const paths = beam.best(topPaths)
    if (paths.length < topPaths) throw tooFewPaths(topPaths, paths.length, `the prefixes of row ${row}`)
    for (const [path, { node, total }] of paths.entries()) {
      decoded[path][row] = node.labels(mergeRepeated)
      logProbabilities[row * topPaths + path] = total
    }
  }
  return { decoded, logProbabilities: { data: logProbabilities, shape: [batch, topPaths] } }
}

const NO_SCORER: PrefixScorer<undefined> = { initialState: undefined, extend: () => ({ state: undefined, score: 0 }) }

/** The prefixes of one row that are kept, in descending order of probability. */
class Beam<State> {
  readonly #width: number
  readonly #scorer: PrefixScorer<State>
  readonly #blank: number
  #nodes: PrefixNode<State>[]

  constructor(width: number, scorer: PrefixScorer<State>, blank: number) {
    this.#width = width
    this.#scorer = scorer
    this.#blank = blank
    const root = new PrefixNode<State>(undefined, -1, scorer.initialState, 0)
    root.now = { blank: 0, label: Number.NEGATIVE_INFINITY, total: 0 }
    this.#nodes = [root]
  }

  /** Takes one frame of log-probabilities [K]. */
  advance(logY: Float64Array): void {
    const survivors = this.#nodes
    for (const node of survivors) node.before = node.now
    for (const node of survivors) node.now = this.#continued(node, logY)
    const kept = new KeptPrefixes(this.#width, survivors)
    for (const node of survivors) {
      if (!kept.admits(node.before.total)) continue
      for (let label = 0; label < logY.length; label++) {
        if (label !== this.#blank) this.#grow(node, label, logY[label], kept)
      }
    }
    this.#nodes = kept.descending
  }

  /** The best prefixes, the end scored. */
  best(count: number): { readonly node: PrefixNode<State>; readonly total: number }[] {
    return this.#nodes
      .map((node) => ({ node, total: node.now.total + endScore(this.#scorer, node.state) }))
      .sort((a, b) => b.total - a.total)
      .slice(0, count)
  }

  /** The mass of a prefix that stays: by a blank, by its last label again, or by its last label after the prefix before. */
  #continued(node: PrefixNode<State>, logY: Float64Array): PrefixMass {
    const { parent, before } = node
    let label = Number.NEGATIVE_INFINITY
    if (parent !== undefined) {
      const arriving = parent.isActive ? passedOn(parent, node) : Number.NEGATIVE_INFINITY
      label = logAddExp(before.label, arriving) + logY[node.label]
    }
    const blank = before.total + logY[this.#blank]
    return { blank, label, total: logAddExp(blank, label) }
  }

  /** Adds `label` to a prefix, unless the longer prefix is in the beam or too unlikely. */
  #grow(node: PrefixNode<State>, label: number, logY: number, kept: KeptPrefixes<State>): void {
    const child = node.child(label, this.#scorer)
    if (child.isActive) return
    const total = passedOn(node, child) + logY
    if (!kept.admits(total)) {
      // A prefix that left the beam in this very step grows no more, even before its turn, as in TensorFlow.
      child.before = NO_MASS
      return
    }
    child.now = { blank: Number.NEGATIVE_INFINITY, label: total, total }
    kept.add(child)
  }
}

/** The mass that a prefix hands to one that is longer by a label: equal labels need a blank between them. */
function passedOn<State>(parent: PrefixNode<State>, child: PrefixNode<State>): number {
  return (child.label === parent.label ? parent.before.blank : parent.before.total) + child.score
}

function tooFewPaths(topPaths: number, actual: number, rule: string) {
  return codedRangeError(
    'ERR_TOP_PATHS',
    `Cannot ${ACTION} as topPaths must be at most ${rule} (${actual}): current value is ${topPaths}`,
    { option: 'topPaths', value: topPaths, maximum: actual },
  )
}
