import type { CtcProblem, InfeasibleRows } from '@cudnn-rnn/ops/executor'

/** Limits of cudnnCTCLoss_v8: time steps, and labels of a row with the deterministic algorithm. */
const MOST_STEPS = 65535
const MOST_LABELS = 255

/** A CTC problem in the form of cudnnCTCLoss_v8. */
export interface CudnnCtcProblem {
  readonly time: number
  readonly batch: number
  readonly classes: number
  readonly blank: number
  /** Columns of the labels, rounded up: every other number needs another workspace and another graph. */
  readonly maxLabels: number
  /** [B·maxLabels], the labels of all rows one behind the other, then zeros. The blank is 0; classes before it move up. */
  readonly labels: Int32Array
  /** [B] */
  readonly labelLengths: Int32Array
  /** [B] */
  readonly logitLengths: Int32Array
  readonly infeasible: InfeasibleRows
  /** [B] */
  readonly rowWeights: Float64Array
}

/**
 * The problem as cuDNN takes it; undefined if cuDNN refuses it or its result is not documented: labels that last one
 * frame, rows without labels, and labels that need more frames than there are, for which its kernels read out of bounds.
 * Rows of weight 0, whose results are dropped, get one label and all frames.
 */
export function cudnnCtcProblem(problem: CtcProblem): CudnnCtcProblem | undefined {
  const { time, batch, classes, blank, rowWeights } = problem
  const longest = problem.labelLengths.reduce((most, length) => Math.max(most, length), 1)
  if (!problem.mergeRepeated || classes < 2 || time > MOST_STEPS || longest > MOST_LABELS) return undefined
  const maxLabels = Math.min(2 ** Math.ceil(Math.log2(longest)), MOST_LABELS)
  const labels = new Int32Array(batch * maxLabels)
  const labelLengths = problem.labelLengths.slice()
  const logitLengths = problem.logitLengths.slice()
  let end = 0
  for (let row = 0; row < batch; row++) {
    if (rowWeights[row] === 0) {
      labelLengths[row] = 1
      logitLengths[row] = time
      labels[end++] = 1
      continue
    }
    const first = row * problem.maxLabels
    const own = problem.labels.subarray(first, first + labelLengths[row])
    if (own.length === 0 || framesOf(own) > logitLengths[row]) return undefined
    for (const label of own) labels[end++] = label < blank ? label + 1 : label
  }
  const lengths = { labelLengths, logitLengths }
  return { time, batch, classes, blank, maxLabels, labels, ...lengths, infeasible: problem.infeasible, rowWeights }
}

/** Frames that labels need at least: a blank separates equal ones. */
function framesOf(labels: Int32Array): number {
  let frames = labels.length
  for (let k = 1; k < labels.length; k++) if (labels[k] === labels[k - 1]) frames++
  return frames
}
