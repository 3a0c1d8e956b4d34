import * as tf from '@tensorflow/tfjs'
import { beforeAll, describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { ctcLoss } from '../src/index.js'
import { randomTensor } from './oracle.js'

const [BATCH, TIME, CLASSES] = [2, 3, 3] as const

/** Every frame's class on a path, for all K^T paths. */
function paths(): number[][] {
  return Array.from({ length: CLASSES ** TIME }, (_, n) =>
    Array.from({ length: TIME }, (_, t) => Math.floor(n / CLASSES ** t) % CLASSES),
  )
}

/** The labels of a path: repeated classes count once, blanks not at all. */
function labelsOf(path: readonly number[], blank: number): number[] {
  return path.filter((label, t) => label !== blank && label !== path[t - 1])
}

/** -ln Σ over the paths of each row's labels, by TensorFlow.js alone. */
function byEnumeration(logits: tf.Tensor3D, labels: readonly number[][], blank: number): tf.Tensor1D {
  const logs = tf.logSoftmax(logits)
  const rows = labels.map((row, b) => {
    const own = paths().filter((path) => labelsOf(path, blank).join() === row.join())
    const terms = own.map((path) =>
      tf.addN(path.map((label, t) => tf.slice(logs, [b, t, label], [1, 1, 1]).reshape([]))),
    )
    return tf.logSumExp(tf.stack(terms)).neg()
  })
  return tf.stack(rows) as tf.Tensor1D
}

beforeAll(() => {
  tf.env().set('PROD', true)
})

describe('ctcLoss', () => {
  const logits = randomTensor([BATCH, TIME, CLASSES], 1) as tf.Tensor3D
  const factors = tf.tensor1d([0.5, 2])

  test.each([
    [2, [[0, 1], [1]]],
    [0, [[1], [2, 1]]],
  ])('with blank %i equals the sum over all paths, and its gradient TensorFlow.js’s', (blank, labels) => {
    const loss = (compute: (x: tf.Tensor3D) => tf.Tensor1D) => (x: tf.Tensor) =>
      compute(x as tf.Tensor3D)
        .mul(factors)
        .sum()
    const expected = tf.valueAndGrad(loss((x) => byEnumeration(x, labels, blank)))(logits)
    const actual = tf.valueAndGrad(loss((x) => ctcLoss(tf, x, labels, { blank })))(logits)
    expect(actual.value.dataSync()[0]).toBeCloseTo(expected.value.dataSync()[0] as number, 5)
    const gradient = actual.grad.dataSync()
    for (const [k, value] of expected.grad.dataSync().entries()) expect(gradient[k]).toBeCloseTo(value, 5)
  })

  test('takes a padded tensor of labels with their lengths', () => {
    const rows = ctcLoss(tf, logits, [[0, 1], [1]])
    const padded = tf.tensor2d([0, 1, 1, 0], [2, 2], 'int32')
    const tensor = ctcLoss(tf, logits, padded, { labelLengths: [2, 1] })
    expect(tensor.dataSync()).toEqual(rows.dataSync())
  })

  test('leaves rows out whose gradient is 0, and refuses labels that are not classes', () => {
    const impossible = [[0, 0, 0], [1]]
    const only = tf.grad((x) =>
      ctcLoss(tf, x as tf.Tensor3D, impossible, { infeasible: 'nan' })
        .slice([1], [1])
        .sum(),
    )
    expect(
      only(logits)
        .slice([0], [1])
        .dataSync()
        .every((value) => value === 0),
    ).toBe(true)
    expect(() => ctcLoss(tf, logits, [[3], [0]])).toThrow(coded('ERR_CTC_LABEL'))
    for (const labels of [[[0.5], [1]], tf.tensor2d([0.5, 1], [2, 1])]) {
      expect(() => ctcLoss(tf, logits, labels as number[][])).toThrow(coded('ERR_CTC_LABELS'))
    }
    expect(() => ctcLoss(tf, logits, [[0], [1]], { labelLengths: [1, 1] })).toThrow(coded('ERR_CTC_LABELS'))
  })
})
