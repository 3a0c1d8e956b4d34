import type { FloatArray } from '@cudnn-rnn/canonical'
import type { CtcProblem } from '../arguments/ctc_problem.js'
import { floatAt } from './float_at.js'

/**
 * Connectionist temporal classification (Graves, Fernández, Gomez, Schmidhuber: "Connectionist Temporal Classification:
 * Labelling Unsegmented Sequence Data with Recurrent Neural Networks", ICML 2006), loss and gradient of logits [T,B,K].
 *
 * The labels l of a row, with a blank before, between and after them, are the states l' of a left-to-right chain. A path
 * visits one state per frame; it starts in one of the first two and ends in one of the last two. From state s it stays, or
 * moves to s+1, or skips a blank to s+2 if the labels on both sides differ. With y = softmax(logits):
 *
 *     α_t(s) = y_t(l'_s) · Σ α_{t-1}(predecessors of s)             the paths that are in s at time t, up to t
 *     β_t(s) = Σ y_{t+1}(l'_r) · β_{t+1}(r), r a successor of s     the same paths, after t
 *     p(l) = α_{T-1}(last) + α_{T-1}(last but one)                  loss = -ln p
 *     ∂loss/∂logit_t(k) = y_t(k) - Σ_{s: l'_s = k} α_t(s)·β_t(s) / p
 *
 * (Graves's β includes y_t; without it nothing is divided by a probability that may be 0.) All of it is kept as
 * logarithms in double precision. Without `mergeRepeated` a label lasts one frame: it cannot stay, and may skip the blank
 * to an equal label.
 *
 * @param gradient [T,B,K], zeros on entry: gradient of the result with respect to the logits.
 * @param rowLosses [B], zeros on entry: -ln p of each row.
 * @returns Σ rowWeights·rowLosses
 */
export function hostCtcLoss(
  gradient: FloatArray,
  rowLosses: FloatArray,
  logits: FloatArray,
  problem: CtcProblem,
): number {
  let loss = 0
  for (let row = 0; row < problem.batch; row++) {
    const weight = floatAt(problem.rowWeights, row)
    if (weight === 0) continue
    const rowLoss = rowCtcLoss(gradient, logits, problem, row)
    rowLosses[row] = rowLoss
    loss += weight * rowLoss
  }
  return loss
}

/** Below it a path counts as one of probability 0: kUnreached of native/cpu/src/dense/ctc_loss.cc. */
const CTC_LOG_UNREACHED = -5e299

/** The states l' of one row. */
interface StateChain {
  /** Class of each state: blank, label, blank, …, blank. */
  readonly classes: Int32Array
  /** 1 if a path may stay. */
  readonly stays: Uint8Array
  /** 1 if a path may skip a state. */
  readonly skips: Uint8Array
}

function stateChain({ labels, labelLengths, maxLabels, blank, mergeRepeated }: CtcProblem, row: number): StateChain {
  const count = 2 * labelLengths[row] + 1
  const classes = new Int32Array(count).fill(blank)
  const stays = new Uint8Array(count).fill(1)
  const skips = new Uint8Array(count)
  for (let s = 1; s < count; s += 2) {
    classes[s] = labels[row * maxLabels + (s >> 1)]
    stays[s] = Number(mergeRepeated)
    skips[s] = Number(s > 1 && (classes[s] !== classes[s - 2] || !mergeRepeated))
  }
  return { classes, stays, skips }
}

/** The loss of one row; writes its gradient. */
function rowCtcLoss(gradient: FloatArray, logits: FloatArray, problem: CtcProblem, row: number): number {
  const { batch, classes, logitLengths, infeasible } = problem
  const weight = floatAt(problem.rowWeights, row)
  const time = logitLengths[row]
  const chain = stateChain(problem, row)
  const states = chain.classes.length
  const frame = (t: number) => (t * batch + row) * classes
  // [time,K], ln y
  const logY = new Float64Array(time * classes)
  for (let t = 0; t < time; t++) {
    logSoftmaxInto(logY.subarray(t * classes, (t + 1) * classes), logits, frame(t))
    // NaN in one class is NaN in all of the frame, and in all of the row: also if no path spells the labels.
    if (!Number.isNaN(logY[t * classes])) continue
    for (let of = 0; of < time; of++) gradient.fill(Number.NaN, frame(of), frame(of) + classes)
    return Number.NaN
  }

  const logAlpha = forwardVariables(logY, chain, time, classes)
  const logP = time === 0 ? (states === 1 ? 0 : Number.NEGATIVE_INFINITY) : lastTwo(logAlpha, states)
  if (logP < CTC_LOG_UNREACHED) {
    if (infeasible === 'zero') return 0
    for (let t = 0; t < time; t++) {
      for (let k = 0; k < classes; k++) {
        gradient[frame(t) + k] = infeasible === 'nan' ? Number.NaN : weight * Math.exp(floatAt(logY, t * classes + k))
      }
    }
    return Number.POSITIVE_INFINITY
  }

  // ln β_t; after the last frame a path must be in one of the last two states.
  let logBeta: Float64Array = new Float64Array(states).fill(Number.NEGATIVE_INFINITY)
  logBeta.fill(0, Math.max(0, states - 2))
  for (let t = time - 1; t >= 0; t--) {
    const posterior = new Float64Array(classes)
    const both = logBeta.map((value, s) => value + floatAt(logAlpha, t * states + s))
    // Their sum is p, which logP is too far from if logarithms of great magnitude were rounded.
    const most = both.reduce((high, value) => Math.max(high, value))
    let total = 0
    for (let s = 0; s < states; s++) {
      const share = Math.exp(floatAt(both, s) - most)
      total += share
      posterior[chain.classes[s]] = floatAt(posterior, chain.classes[s]) + share
    }
    for (let k = 0; k < classes; k++) {
      gradient[frame(t) + k] = weight * (Math.exp(floatAt(logY, t * classes + k)) - floatAt(posterior, k) / total)
    }
    logBeta = previousBeta(logBeta, logY.subarray(t * classes, (t + 1) * classes), chain)
  }
  // Not -logP, which is -0 if the labels are certain.
  return 0 - logP
}

/** ln α [time, states]. */
function forwardVariables(logY: Float64Array, chain: StateChain, time: number, classes: number): Float64Array {
  const states = chain.classes.length
  const logAlpha = new Float64Array(time * states).fill(Number.NEGATIVE_INFINITY)
  for (let s = 0; time > 0 && s < Math.min(2, states); s++) logAlpha[s] = floatAt(logY, chain.classes[s])
  for (let t = 1; t < time; t++) {
    const before = (t - 1) * states
    for (let s = 0; s < states; s++) {
      let sum = chain.stays[s] ? floatAt(logAlpha, before + s) : Number.NEGATIVE_INFINITY
      if (s > 0) sum = logAddExp(sum, floatAt(logAlpha, before + s - 1))
      if (chain.skips[s]) sum = logAddExp(sum, floatAt(logAlpha, before + s - 2))
      logAlpha[t * states + s] = sum + floatAt(logY, t * classes + chain.classes[s])
    }
  }
  return logAlpha
}

/** ln β_{t-1} from ln β_t and ln y_t. */
function previousBeta(logBeta: Float64Array, logY: Float64Array, { classes, stays, skips }: StateChain): Float64Array {
  const states = classes.length
  const arriving = logBeta.map((value, s) => value + floatAt(logY, classes[s]))
  return logBeta.map((_, s) => {
    let sum = stays[s] ? floatAt(arriving, s) : Number.NEGATIVE_INFINITY
    if (s + 1 < states) sum = logAddExp(sum, floatAt(arriving, s + 1))
    if (s + 2 < states && skips[s + 2]) sum = logAddExp(sum, floatAt(arriving, s + 2))
    return sum
  })
}

/** ln p: of paths that end in one of the last two states. */
function lastTwo(logAlpha: Float64Array, states: number): number {
  const last = logAlpha[logAlpha.length - 1]
  return states === 1 ? last : logAddExp(last, logAlpha[logAlpha.length - 2])
}

/** ln(e^a + e^b) */
export function logAddExp(a: number, b: number): number {
  if (a === Number.NEGATIVE_INFINITY) return b
  if (b === Number.NEGATIVE_INFINITY) return a
  return Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)))
}

/** out = ln softmax of the logits from `at` on, as many as `out` has elements. */
export function logSoftmaxInto(out: Float64Array, logits: FloatArray, at: number): void {
  let maximum = Number.NEGATIVE_INFINITY
  for (let k = 0; k < out.length; k++) maximum = Math.max(maximum, floatAt(logits, at + k))
  let sum = 0
  for (let k = 0; k < out.length; k++) sum += Math.exp(floatAt(logits, at + k) - maximum)
  const logSum = Math.log(sum)
  // Not minus the sum of both: beside a large maximum the logarithm would lose its digits.
  for (let k = 0; k < out.length; k++) out[k] = floatAt(logits, at + k) - maximum - logSum
}
