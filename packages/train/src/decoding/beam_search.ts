import {
  checkedElsewhere,
  checkIsObject,
  checkOptions,
  codedRangeError,
  FINITE,
  FLAG,
  FUNCTION,
  integerFrom,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import { checkFloats, type FloatTensor } from '../losses/axis_lines.js'
import { logSoftmax } from '../losses/softmax.js'

const OPTIONS = {
  /** B */
  batch: integerFrom(1),
  /** K */
  beamWidth: integerFrom(1),
  /** Most ids after the begin id. */
  length: integerFrom(1),
  /** The id before the first that is searched. */
  beginId: integerFrom(0),
  /** The id that finishes a sequence. */
  endId: integerFrom(0),
  /** Finished sequences compete by log-probability / length^this; default 0 (none), 0.6 to 1 favors longer ones. */
  lengthPenalty: optional(FINITE),
  /** Default true: stop when no living beam of any sequence can still win. */
  earlyStop: optional(FLAG),
}

/** Options of {@link beamSearch}; `State` is the caller's. */
export interface BeamSearchOptions<State> extends OptionsOf<typeof OPTIONS> {
  /** State of B·K rows: row b·K + k is beam k of sequence b. All beams of a sequence start equal. */
  readonly initialState: State
  /**
   * Reads one id [B·K] per beam and returns the state after it and the logits [B·K,V] of the next id. The search reads
   * each state once, then hands it to `gather`.
   */
  readonly update: (state: State, ids: Int32Array) => Promise<{ readonly state: State; readonly logits: FloatTensor }>
  /** The state whose row r is row `parents[r]` of the one given; disposes that if it must be. */
  readonly gather: (state: State, parents: Int32Array) => State | Promise<State>
}

type BeamHypothesis = {
  /** Without the begin id; the end id is last when the hypothesis is finished. */
  readonly ids: readonly number[]
  readonly logProbability: number
  /** The score of the ranking: logProbability / length^lengthPenalty. */
  readonly score: number
  readonly finished: boolean
}

/**
 * Beam search after Effective TensorFlow's `rnn_beam_search`: log-probabilities add up, the K best of K·V continuations
 * live on, states follow their parents. Fixed here: a finished beam is set aside instead of multiplying into copies with
 * arbitrary ids after the end, and there are length normalization and an early stop.
 *
 * @returns per sequence at most K hypotheses, best first: finished ones, and living ones cut off at `length`
 * @throws RangeError `ERR_INVALID_OPTION`, `ERR_SHAPE`
 * @example
 * ```ts
 * import { beamSearch } from '@cudnn-rnn/rnn/train'
 *
 * // Ids: 0 is the beginning, 1 the end. The logits are the same at each step.
 * const logits = { data: Float32Array.of(-9, 2, 0, 1), shape: [1, 4] }
 * const beams = await beamSearch({
 *   initialState: null,
 *   update: async (_state, ids) => {
 *     const data = Float32Array.from([...ids].flatMap(() => [...logits.data]))
 *     return { state: null, logits: { data, shape: [ids.length, 4] } }
 *   },
 *   gather: () => null,
 *   batch: 1,
 *   beamWidth: 2,
 *   length: 3,
 *   beginId: 0,
 *   endId: 1,
 * })
 * console.log(beams[0]?.map(({ ids }) => ids)) // [[1], [3, 1]]
 * ```
 */
export async function beamSearch<State>(options: BeamSearchOptions<State>): Promise<BeamHypothesis[][]> {
  const given = checkOptions('search', options, {
    ...OPTIONS,
    initialState: checkedElsewhere(),
    update: FUNCTION,
    gather: FUNCTION,
  })
  const { batch, beamWidth, length, beginId, endId, lengthPenalty = 0, earlyStop = true, update, gather } = given
  const rank = (logProbability: number, ids: number) => logProbability / ids ** lengthPenalty
  const searches = Array.from({ length: batch }, () => new Search(beamWidth, rank))
  let state = given.initialState
  let ids = new Int32Array(batch * beamWidth).fill(beginId)
  for (let step = 1; step <= length; step++) {
    const result = await update(state, ids)
    checkIsObject('search', 'what update returns', result)
    const logits = checkFloats('search', 'logits', result.logits)
    checkLogits(logits.shape, batch * beamWidth)
    const { data, shape } = logSoftmax(logits)
    const classes = shape[1]
    const parents = new Int32Array(batch * beamWidth)
    const nextIds = new Int32Array(batch * beamWidth)
    for (const [b, search] of searches.entries()) {
      const first = b * beamWidth
      const living = search.advance(data.subarray(first * classes, (first + beamWidth) * classes), classes, endId)
      for (let k = 0; k < beamWidth; k++) {
        // A row without a living beam repeats another one; its result is not looked at.
        const beam = living[k] ?? { parent: 0, id: endId }
        parents[first + k] = first + beam.parent
        nextIds[first + k] = beam.id
      }
    }
    state = await gather(result.state, parents)
    ids = nextIds
    if (searches.every((search) => search.exhausted || (earlyStop && search.decided(length)))) break
  }
  return searches.map((search) => search.hypotheses())
}

interface Beam {
  readonly ids: readonly number[]
  readonly logProbability: number
}

/** The beams of one sequence. */
class Search {
  readonly #width: number
  readonly #rank: (logProbability: number, length: number) => number
  #living: readonly Beam[] = [{ ids: [], logProbability: 0 }]
  #finished: BeamHypothesis[] = []

  constructor(width: number, rank: (logProbability: number, length: number) => number) {
    this.#width = width
    this.#rank = rank
  }

  get exhausted(): boolean {
    return this.#living.length === 0
  }

  /** Takes one step on log-probabilities [K,V]; returns the parent and the id of each beam that lives on. */
  advance(logProbabilities: ArrayLike<number>, classes: number, endId: number): { parent: number; id: number }[] {
    const candidates: { parent: number; id: number; total: number }[] = []
    for (const [parent, beam] of this.#living.entries()) {
      for (let id = 0; id < classes; id++) {
        const total = beam.logProbability + logProbabilities[parent * classes + id]
        if (total > Number.NEGATIVE_INFINITY) candidates.push({ parent, id, total })
      }
    }
    candidates.sort((a, b) => b.total - a.total)
    const living: { parent: number; id: number; total: number }[] = []
    // An ending among the best is set aside and takes no living beam's place.
    for (const [place, candidate] of candidates.entries()) {
      if (living.length === this.#width) break
      if (candidate.id !== endId) living.push(candidate)
      else if (place < this.#width) this.#finish(candidate)
    }
    this.#living = living.map(({ parent, id, total }) => ({
      ids: [...this.#living[parent].ids, id],
      logProbability: total,
    }))
    return living
  }

  /** True when K hypotheses are finished and the best living beam cannot overtake the worst of them. */
  decided(length: number): boolean {
    if (this.#finished.length < this.#width) return false
    const best = this.#living[0]
    if (best === undefined) return true
    // Log-probabilities only fall and are divided by at most length^penalty.
    const bound = Math.max(this.#rank(best.logProbability, best.ids.length), this.#rank(best.logProbability, length))
    return bound <= this.#finished[this.#finished.length - 1].score
  }

  hypotheses(): BeamHypothesis[] {
    const cut = this.#living.map(({ ids, logProbability }) => ({
      ids,
      logProbability,
      score: this.#rank(logProbability, ids.length),
      finished: false,
    }))
    return best([...this.#finished, ...cut], this.#width)
  }

  #finish({ parent, id, total }: { parent: number; id: number; total: number }): void {
    const ids = [...this.#living[parent].ids, id]
    const hypothesis = { ids, logProbability: total, score: this.#rank(total, ids.length), finished: true }
    this.#finished = best([...this.#finished, hypothesis], this.#width)
  }
}

function best(hypotheses: readonly BeamHypothesis[], count: number): BeamHypothesis[] {
  return hypotheses.toSorted((a, b) => b.score - a.score).slice(0, count)
}

function checkLogits(shape: readonly number[], rows: number): void {
  if (shape.length === 2 && shape[0] === rows) return
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot search as logits must have shape [${rows},*]: current shape is [${shape.join(',')}]`,
    { argument: 'logits', expected: [rows, undefined], actual: shape },
  )
}
