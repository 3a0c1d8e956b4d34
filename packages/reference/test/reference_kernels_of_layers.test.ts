import type { TensorLike } from '@cudnn-rnn/ops'
import { describe, expect, it } from 'vitest'
import { openReferenceBackend } from '../src/index.js'

const floats = (shape: readonly number[], ...data: number[]) => ({ data: Float64Array.from(data), shape })
const ints = (...data: number[]) => ({ data: Int32Array.from(data), shape: [data.length] })
const open = () => openReferenceBackend({ dtype: 'float64' })
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 13))

/** Shape and elements of a result. */
async function read(tensor: {
  readonly shape: readonly number[]
  read(): Promise<{ readonly data: ArrayLike<number> }>
}) {
  return [tensor.shape, Array.from((await tensor.read()).data)] as const
}

describe('operations on rows', () => {
  it('keep leading dimensions, and treat them as rows', async () => {
    using backend = open()
    const { ops } = backend
    const [shape, values] = await read(ops.activate(floats([2, 1, 2], 0, 0, Math.log(3), 0), 'softmax'))
    expect([shape, values]).toEqual([[2, 1, 2], close([0.5, 0.5, 0.75, 0.25])])
    const [scaled] = await read(ops.layerNorm(floats([1, 2, 1], 3, 4), floats([1], 2), floats([1], 5), { epsilon: 0 }))
    expect(scaled).toEqual([1, 2, 1])
  })

  it('layerNorm is gamma times the standard score plus beta', async () => {
    using backend = open()
    // Mean 3, variance 4.
    const [, y] = await read(
      backend.ops.layerNorm(floats([1, 2], 1, 5), floats([2], 10, 100), floats([2], 1, 2), { epsilon: 0 }),
    )
    expect(y).toEqual(close([-9, 102]))
    const gradients = backend.ops.layerNormGradients(
      floats([2, 2], 1, 5, 5, 1),
      floats([2], 1, 1),
      floats([2, 2], 1, 2, 3, 4),
      {
        epsilon: 0,
      },
    )
    // The scores of two columns are ±1 for every input, so that its gradient is 0.
    expect((await read(gradients.input))[1]).toEqual(close([0, 0, 0, 0]))
    expect((await read(gradients.gamma))[1]).toEqual(close([-1 + 3, 2 - 4]))
    expect((await read(gradients.beta))[1]).toEqual(close([4, 6]))
  })

  it('concat and columns are inverses, over tensors of the executor and of the host', async () => {
    using backend = open()
    const { ops } = backend
    using left = backend.tensor(floats([2, 1, 1], 1, 2))
    const joined = ops.concat([left, floats([2, 1, 2], 3, 4, 5, 6), left])
    expect(await read(joined)).toEqual([
      [2, 1, 4],
      [1, 3, 4, 1, 2, 5, 6, 2],
    ])
    expect(await read(ops.columns(joined, 1, 2))).toEqual([
      [2, 1, 2],
      [3, 4, 5, 6],
    ])
    expect(await read(ops.columns(joined, 3, 1))).toEqual([
      [2, 1, 1],
      [1, 2],
    ])
  })

  it('concat of one tensor is a copy of it', async () => {
    using backend = open()
    using input = backend.tensor(floats([2], 1, 2))
    using copy = backend.ops.concat([input])
    backend.ops.accumulate(copy, input)
    expect(await read(input)).toEqual([[2], [1, 2]])
    expect(await read(copy)).toEqual([[2], [2, 4]])
  })
})

describe('operations on sequences [T,B,E]', () => {
  // Rows (1, 2, 3) and (4, 5, 6) of one column, T before B.
  const x = floats([3, 2, 1], 1, 4, 2, 5, 3, 6)

  it('reverseSequence turns the steps of each row within its length, and zeroes the others', async () => {
    using backend = open()
    expect((await read(backend.ops.reverseSequence(x, null)))[1]).toEqual([3, 6, 2, 5, 1, 4])
    expect((await read(backend.ops.reverseSequence(x, ints(2, 0))))[1]).toEqual([2, 0, 1, 0, 0, 0])
  })

  it.each([
    ['last', [3, 5]],
    ['mean', [2, 4.5]],
    ['max', [3, 5]],
  ] as const)('poolSequence takes the %s of the steps within the length', async (pooling, expected) => {
    using backend = open()
    expect(await read(backend.ops.poolSequence(x, ints(3, 2), { pooling }))).toEqual([[2, 1], expected])
  })

  it.each(['last', 'mean', 'max'] as const)('poolSequence has zeros for a row of length 0: %s', async (pooling) => {
    using backend = open()
    const negative = floats([2, 2, 1], -1, -2, -3, -4)
    expect((await read(backend.ops.poolSequence(negative, ints(0, 1), { pooling })))[1]).toEqual([0, -2])
    const gradient = backend.ops.poolSequenceGradient(negative, ints(0, 1), floats([2, 1], 7, 8), { pooling })
    expect((await read(gradient))[1]).toEqual([0, 8, 0, 0])
  })

  it('poolSequence takes step 0 of the columns that were computed from the end', async () => {
    using backend = open()
    const two = floats([2, 1, 2], 1, 10, 2, 20)
    const options = { pooling: 'last', reversedFrom: 1 } as const
    expect((await read(backend.ops.poolSequence(two, null, options)))[1]).toEqual([2, 10])
    const gradient = backend.ops.poolSequenceGradient(two, null, floats([1, 2], 5, 6), options)
    expect((await read(gradient))[1]).toEqual([0, 6, 5, 0])
  })

  it('attend weighs the steps of a row by the softmax of their scores, within its length', async () => {
    using backend = open()
    const scores = floats([3, 2, 1], 0, 0, Math.log(3), 9, 5, 9)
    const { output, weights } = backend.ops.attend(x, scores, ints(2, 1))
    expect(await read(weights)).toEqual([[3, 2, 1], close([0.25, 1, 0.75, 0, 0, 0])])
    expect(await read(output)).toEqual([[2, 1], close([0.25 * 1 + 0.75 * 2, 4])])
    const gradients = backend.ops.attendGradients(x, weights, floats([2, 1], 8, 1))
    expect((await read(gradients.input))[1]).toEqual(close([2, 1, 6, 0, 0, 0]))
    // w_t·(dy·x_t - Σ w·dy·x): 8·0.25·(1 - 1.75) and 8·0.75·(2 - 1.75).
    expect((await read(gradients.scores))[1]).toEqual(close([-1.5, 0, 1.5, 0, 0, 0]))
  })

  it('attend has weights and an output of zeros for a row of length 0', async () => {
    using backend = open()
    const { output, weights } = backend.ops.attend(x, floats([3, 2, 1], 1, 1, 1, 1, 1, 1), ints(0, 3))
    expect((await read(output))[1]).toEqual(close([0, 5]))
    expect((await read(weights))[1]).toEqual(close([0, 1 / 3, 0, 1 / 3, 0, 1 / 3]))
  })
})

describe('elementLoss', () => {
  // Two rows of two columns.
  const [predictions, targets] = [floats([2, 2], 1, 2, 3, 4), floats([2, 2], 0, 0, 3, 2)]

  it.each([
    ['squared_error', (1 + 4) / 2, (0 + 4) / 2, [1, 2, 0, 2]],
    ['absolute_error', (1 + 2) / 2, (0 + 2) / 2, [0.5, 0.5, 0, 0.5]],
  ] as const)('%s is the mean over the columns, then over the rows by weight', async (loss, first, second, slopes) => {
    using backend = open()
    const { ops } = backend
    const plain = ops.elementLoss(predictions, targets, loss)
    expect(await read(plain.loss)).toEqual([[], close([(first + second) / 2])])
    expect((await read(plain.gradient))[1]).toEqual(close(slopes.map((slope) => slope / 2)))
    const weighed = ops.elementLoss(predictions, targets, loss, floats([2], 3, 1))
    expect((await read(weighed.loss))[1]).toEqual(close([(3 * first + second) / 4]))
    const factors = [0.75, 0.75, 0.25, 0.25]
    expect((await read(weighed.gradient))[1]).toEqual(close(slopes.map((slope, k) => slope * factors[k])))
  })

  it('sigmoid_cross_entropy is ln 2 without evidence, and finite for large logits', async () => {
    using backend = open()
    const none = backend.ops.elementLoss(floats([1, 2], 0, 0), floats([1, 2], 0, 1), 'sigmoid_cross_entropy')
    expect((await read(none.loss))[1]).toEqual(close([Math.LN2]))
    expect((await read(none.gradient))[1]).toEqual(close([0.25, -0.25]))
    const large = backend.ops.elementLoss(floats([1, 2], 1e4, -1e4), floats([1, 2], 1, 1), 'sigmoid_cross_entropy')
    expect((await read(large.loss))[1]).toEqual(close([5000]))
    expect((await read(large.gradient))[1]).toEqual(close([0, -0.5]))
  })

  it('is zero where no row counts, and does not read a row of weight 0', async () => {
    using backend = open()
    const nan = floats([2, 1], Number.NaN, 3)
    const half = backend.ops.elementLoss(nan, floats([2, 1], 0, 1), 'squared_error', floats([2], 0, 1))
    expect([(await read(half.loss))[1], (await read(half.gradient))[1]]).toEqual([[4], [0, 4]])
    const none = backend.ops.elementLoss(nan, floats([2, 1], 0, 1), 'squared_error', floats([2], 0, 0))
    expect([(await read(none.loss))[1], (await read(none.gradient))[1]]).toEqual([[0], [0, 0]])
  })
})

describe('dropout', () => {
  const x: TensorLike = floats([4, 50], ...Array.from({ length: 200 }, (_, k) => k + 1))

  it('keeps elements scaled by 1/(1 - rate), the same ones for one draw', async () => {
    using backend = open()
    const options = { rate: 0.75, seed: 3, draw: 1 }
    const [, first] = await read(backend.ops.dropout(x, options))
    for (const [k, value] of first.entries()) expect([0, 4 * (k + 1)]).toContain(value)
    expect((await read(backend.ops.dropout(x, options)))[1]).toEqual(first)
    expect((await read(backend.ops.dropout(x, { ...options, draw: 2 })))[1]).not.toEqual(first)
    expect((await read(backend.ops.dropout(x, { ...options, seed: 4 })))[1]).not.toEqual(first)
  })

  it('keeps all at a rate of 0, and none at 1', async () => {
    using backend = open()
    expect((await read(backend.ops.dropout(x, { rate: 0, seed: 1, draw: 0 })))[1]).toEqual([...x.data])
    expect(new Set((await read(backend.ops.dropout(x, { rate: 1, seed: 1, draw: 0 })))[1])).toEqual(new Set([0]))
  })
})
