import { describe, expect, it } from 'vitest'
import { checkCtcLoss, hostCtcLoss, Philox } from '../../../src/executor/index.js'
import type { CtcLossOptions } from '../../../src/executor/operations/operation_types.js'

interface Row {
  /** [T,K] */
  readonly logits: readonly (readonly number[])[]
  readonly labels: readonly number[]
}

/** The loss of rows of as many frames and classes each, by the checked arguments of a call. */
function lossOf(rows: readonly Row[], options: Partial<CtcLossOptions> = {}) {
  const [time, classes] = [rows[0].logits.length, rows[0].logits[0].length]
  const maxLabels = Math.max(...rows.map(({ labels }) => labels.length))
  const logits = new Float64Array(time * rows.length * classes)
  const labels = new Int32Array(rows.length * maxLabels)
  for (const [row, each] of rows.entries()) {
    for (const [t, frame] of each.logits.entries()) logits.set(frame, (t * rows.length + row) * classes)
    labels.set(each.labels, row * maxLabels)
  }
  const problem = checkCtcLoss(
    'float64',
    { data: logits, shape: [time, rows.length, classes] },
    { data: labels, shape: [rows.length, maxLabels] },
    {
      labelLengths: rows.map((row) => row.labels.length),
      logitLengths: rows.map(() => time),
      blank: 0,
      ...options,
    },
  )
  const [gradient, rowLosses] = [new Float64Array(logits.length), new Float64Array(rows.length)]
  const loss = hostCtcLoss(gradient, rowLosses, logits, problem)
  return { loss, rowLosses: [...rowLosses], gradient, logits, problem }
}

/** Probability of the labels: the sum over all K^T paths of those that spell them. */
function probabilityOf({ logits, labels }: Row, blank = 0, mergeRepeated = true): number {
  const [time, classes] = [logits.length, logits[0].length]
  const frames = logits.map((frame) => {
    const sum = frame.reduce((total, logit) => total + Math.exp(logit), 0)
    return frame.map((logit) => Math.exp(logit) / sum)
  })
  let total = 0
  for (let code = 0; code < classes ** time; code++) {
    const path = Array.from({ length: time }, (_, t) => Math.floor(code / classes ** t) % classes)
    const spelled = path.filter((label, t) => label !== blank && !(mergeRepeated && t > 0 && path[t - 1] === label))
    if (spelled.join() !== labels.join()) continue
    total += path.reduce((product, label, t) => product * frames[t][label], 1)
  }
  return total
}

const random = new Philox(20261121)
const drawn = (time: number, classes: number, labels: readonly number[]): Row => ({
  logits: Array.from({ length: time }, () => Array.from({ length: classes }, () => 2 * random.normal())),
  labels,
})

const CASES: readonly [string, Row, number, boolean][] = [
  ['one label', drawn(3, 3, [1]), 0, true],
  ['two labels that differ', drawn(4, 3, [1, 2]), 0, true],
  ['equal neighbors, which need a blank between', drawn(5, 3, [2, 2, 1]), 0, true],
  ['as many frames as labels', drawn(3, 4, [3, 1, 2]), 0, true],
  ['no labels', drawn(4, 3, []), 0, true],
  ['the last class as the blank', drawn(4, 3, [0, 1]), 2, true],
  ['a blank between the labels', drawn(4, 3, [0, 2, 0]), 1, true],
  ['labels of one frame each', drawn(5, 3, [1, 1]), 0, false],
  ['labels of one frame each that fill the row', drawn(3, 3, [2, 2, 2]), 0, false],
  ['no labels without merging', drawn(3, 2, []), 0, false],
]

describe('hostCtcLoss', () => {
  it.each(CASES)('sums over the paths that spell %s', (_, row, blank, mergeRepeated) => {
    const expected = -Math.log(probabilityOf(row, blank, mergeRepeated))
    expect(lossOf([row], { blank, mergeRepeated }).loss).toBeCloseTo(expected, 10)
  })

  it.each(CASES)('has the gradient of its differences for %s', (_, row, blank, mergeRepeated) => {
    const options = { blank, mergeRepeated }
    const { gradient } = lossOf([row], options)
    const delta = 1e-5
    for (const [t, frame] of row.logits.entries()) {
      for (const k of frame.keys()) {
        const moved = (by: number) =>
          row.logits.map((each, at) => each.map((logit, index) => (at === t && index === k ? logit + by : logit)))
        const [above, below] = [delta, -delta].map((by) => lossOf([{ ...row, logits: moved(by) }], options).loss)
        expect(gradient[t * frame.length + k]).toBeCloseTo((above - below) / (2 * delta), 6)
      }
    }
  })

  it('has probabilities of all labelings that sum to 1', () => {
    const { logits } = drawn(3, 3, [])
    const labelings: number[][] = [[]]
    for (let length = 1; length <= 3; length++) {
      for (let code = 0; code < 2 ** length; code++) {
        labelings.push(Array.from({ length }, (_, place) => 1 + ((code >> place) & 1)))
      }
    }
    const total = labelings.reduce((sum, labels) => sum + Math.exp(-lossOf([{ logits, labels }]).loss), 0)
    expect(total).toBeCloseTo(1, 12)
  })

  it('adds up the losses of rows by their weights, and scales their gradients', () => {
    const rows = [drawn(4, 3, [1, 2]), drawn(4, 3, [2]), drawn(4, 3, [1])]
    const alone = rows.map((row) => lossOf([row]))
    const rowWeights = [2, 0, -0.5]
    const { loss, rowLosses, gradient } = lossOf(rows, { rowWeights })
    expect(loss).toBeCloseTo(2 * alone[0].loss - 0.5 * alone[2].loss, 12)
    expect(rowLosses).toEqual([alone[0].loss, 0, alone[2].loss])
    for (const [row, { gradient: own }] of alone.entries()) {
      for (let t = 0; t < 4; t++) {
        for (let k = 0; k < 3; k++) {
          expect(gradient[(t * 3 + row) * 3 + k]).toBeCloseTo(rowWeights[row] * own[t * 3 + k], 12)
        }
      }
    }
  })

  it('is 0, not -0, for a row without frames and labels', () => {
    const { loss, rowLosses } = lossOf([drawn(2, 3, []), drawn(2, 3, [1])], { logitLengths: [0, 2] })
    expect(Object.is(rowLosses[0], 0)).toBe(true)
    expect(loss).toBe(rowLosses[1])
  })

  it('reads no logits past the frames of a row, and leaves their gradient at 0', () => {
    const [short, whole] = [drawn(2, 3, [1]), drawn(4, 3, [2, 1])]
    const padded = { ...short, logits: [...short.logits, ...new Array(2).fill(new Array(3).fill(Number.NaN))] }
    const { rowLosses, gradient } = lossOf([padded, whole], { logitLengths: [2, 4] })
    expect(rowLosses).toEqual([lossOf([short]).loss, lossOf([whole]).loss])
    for (let t = 2; t < 4; t++) expect([...gradient.slice(t * 6, t * 6 + 3)]).toEqual([0, 0, 0])
  })

  it.each([
    ['infinite', Number.POSITIVE_INFINITY],
    ['nan', Number.POSITIVE_INFINITY],
    ['zero', 0],
  ] as const)('gives rows that no path spells a loss by the rule %s', (infeasible, expected) => {
    const row = {
      logits: [
        [0, Math.log(3)],
        [0, 0],
      ],
      labels: [1, 1],
    }
    const { rowLosses, gradient } = lossOf([row], { infeasible, rowWeights: [2] })
    expect(rowLosses).toEqual([expected])
    // Softmax by the row's weight, where the gradient of -ln 0 is defined at all.
    const softmax = [0.5, 1.5, 1, 1].map((value) => expect.closeTo(value, 14))
    const gradients = { infinite: softmax, nan: new Array(4).fill(Number.NaN), zero: [0, 0, 0, 0] }
    expect([...gradient]).toEqual(gradients[infeasible])
  })

  it('of a row without frames is 0 for no labels, and infeasible otherwise', () => {
    const rows = [drawn(2, 3, []), drawn(2, 3, [1])]
    const { rowLosses, gradient, loss } = lossOf(rows, { logitLengths: [0, 0] })
    expect(rowLosses.map(Math.abs)).toEqual([0, Number.POSITIVE_INFINITY])
    expect(loss).toBe(Number.POSITIVE_INFINITY)
    expect(gradient.every((value) => value === 0)).toBe(true)
  })

  it('keeps its digits where every path is improbable', () => {
    // One label in 400 frames that all favor the blank by 50: 400 places for the label, alone or in a run.
    const frames = Array.from({ length: 400 }, () => [50, 0])
    const { loss, gradient } = lossOf([{ logits: frames, labels: [1] }])
    expect(loss).toBeCloseTo(50 - Math.log(400), 9)
    expect([...gradient].every(Number.isFinite)).toBe(true)
    // The label is in each frame with the same probability, 1/400.
    expect(gradient[1]).toBeCloseTo(-1 / 400, 9)
    expect(gradient[400]).toBeCloseTo(1 / 400, 9)
  })
})
