import { Dataset, isEmptyShare } from '@cudnn-rnn/train'
import { describe, expect, test } from 'vitest'
import { dataOfRank } from '../../src/training/batch_share.js'
import type { DataShape } from '../../src/training/batches.js'
import type { LayerBatch } from '../../src/training/layer_batch.js'
import type { CheckedLoss } from '../../src/training/losses.js'
import { outputLosses } from '../../src/training/output_losses.js'

/** A model from class ids or numbers to numbers; `isSequence` of its input and output. */
const shapeOf = (input: boolean, output: boolean, loss: CheckedLoss = 'mean_squared_error'): DataShape => {
  const graph = {
    inputs: [{ name: 'input', signal: { isSequence: input, features: 1 } }],
    outputs: [{ name: 'output', signal: { isSequence: output, features: 1 } }],
  } as never
  return { dtype: 'float32', losses: outputLosses(graph, 'float32', loss), graph }
}

/** The share of each of `size` ranks. */
async function shares(batch: LayerBatch, shape: DataShape, size: number): Promise<LayerBatch[]> {
  const results: LayerBatch[] = []
  for (let rank = 0; rank < size; rank++) {
    const data = dataOfRank(Dataset.fromArray([batch]), shape, { rank, size } as never)
    for await (const share of data) results.push(share as LayerBatch)
  }
  return results
}

const floats = (shape: readonly number[], ...data: number[]) => ({ data: Float32Array.from(data), shape })
const ints = (shape: readonly number[], ...data: number[]) => ({ data: Int32Array.from(data), shape })

describe('the share of a rank', () => {
  test('is the batch itself in one process', () => {
    const data = Dataset.fromArray<LayerBatch>([])
    expect(dataOfRank(data, shapeOf(true, true), undefined)).toBe(data)
    expect(dataOfRank(data, shapeOf(true, true), { rank: 0, size: 1 } as never)).toBe(data)
  })

  test('has its columns of every step of a sequence [T,B,I], labels [T,B,O], lengths and weights with them', async () => {
    const batch: LayerBatch = {
      // Row b of step t begins with 100·t + 10·b.
      input: floats([2, 3, 2], 0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121),
      labels: floats([2, 3, 1], 0, 1, 2, 10, 11, 12),
      sequenceLengths: [2, 1, 0],
      weights: floats([2, 3], 1, 2, 3, 4, 5, 6),
      restarts: false,
    }
    expect(await shares(batch, shapeOf(true, true), 2)).toEqual([
      {
        input: floats([2, 1, 2], 0, 1, 100, 101),
        labels: floats([2, 1, 1], 0, 10),
        labelLengths: undefined,
        sequenceLengths: [2],
        weights: floats([2, 1], 1, 4),
        restarts: false,
      },
      {
        input: floats([2, 2, 2], 10, 11, 20, 21, 110, 111, 120, 121),
        labels: floats([2, 2, 1], 1, 2, 11, 12),
        labelLengths: undefined,
        sequenceLengths: [1, 0],
        weights: floats([2, 2], 2, 3, 5, 6),
        restarts: false,
      },
    ])
  })

  test('has its rows of a model whose output has no time axis', async () => {
    const batch = {
      input: ints([2, 3], 0, 1, 2, 10, 11, 12),
      labels: ints([3], 7, 8, 9),
      weights: floats([3], 0.5, 1, 0),
    }
    const [first, second, third] = await shares(batch, shapeOf(true, false, 'softmax_cross_entropy'), 3)
    expect([first.input, second.input, third.input]).toEqual([
      ints([2, 1], 0, 10),
      ints([2, 1], 1, 11),
      ints([2, 1], 2, 12),
    ])
    expect([first, second, third].map(({ labels }) => labels)).toEqual([7, 8, 9].map((label) => ints([1], label)))
    expect([first, second, third].map(({ weights }) => weights?.data[0])).toEqual([0.5, 1, 0])
  })

  test('has its rows of a batch [B,I]', async () => {
    const batch = { input: floats([3, 2], 1, 2, 3, 4, 5, 6), labels: floats([3, 1], 1, 2, 3) }
    const [first, second] = await shares(batch, shapeOf(false, false), 2)
    expect([first.input, first.labels]).toEqual([floats([1, 2], 1, 2), floats([1, 1], 1)])
    expect([second.input, second.labels]).toEqual([floats([2, 2], 3, 4, 5, 6), floats([2, 1], 2, 3)])
  })

  test.each<[string, LayerBatch, LayerBatch['labels'][], unknown[]]>([
    [
      'lists of them',
      { input: floats([1, 3, 1], 1, 2, 3), labels: [[1], [], [2, 3]] },
      [[[1]], [[], [2, 3]]],
      [undefined, undefined],
    ],
    [
      'a tensor [B,S] with lengths',
      { input: floats([1, 3, 1], 1, 2, 3), labels: ints([3, 2], 1, 0, 0, 0, 2, 3), labelLengths: [1, 0, 2] },
      [ints([1, 2], 1, 0), ints([2, 2], 0, 0, 2, 3)],
      [[1], [0, 2]],
    ],
  ])('has its label sequences of CTC, %s', async (_, batch, labels, lengths) => {
    const ranks = await shares(batch, shapeOf(true, true, { name: 'ctc' }), 2)
    expect(ranks.map((share) => share.labels)).toEqual(labels)
    expect(ranks.map(({ labelLengths }) => labelLengths)).toEqual(lengths)
  })

  test.each([
    [1, 2, [0, 1]],
    [2, 5, [0, 0, 1, 0, 1]],
    [7, 3, [2, 2, 3]],
    [4, 4, [1, 1, 1, 1]],
  ])('of %i rows over %i ranks has %o of them, each row once', async (rows, size, expected) => {
    const values = Array.from({ length: rows }, (_, row) => row)
    const batch = { input: floats([rows, 1], ...values), labels: floats([rows, 1], ...values) }
    const ranks = await shares(batch, shapeOf(false, false), size)
    expect(ranks.map((share) => (isEmptyShare(share) ? 0 : share.input.shape[0]))).toEqual(expected)
    expect(ranks.flatMap((share) => (isEmptyShare(share) ? [] : [...share.input.data]))).toEqual(values)
  })

  test('is a copy: writing to it leaves the batch', async () => {
    const batch = { input: floats([2, 1], 1, 2), labels: floats([2, 1], 3, 4) }
    const [first] = await shares(batch, shapeOf(false, false), 2)
    first.input.data.fill(9)
    expect([...batch.input.data]).toEqual([1, 2])
  })
})
