import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { LayerBatch } from '../../src/training/layer_batch.js'
import { greedyLabels, labelRows } from '../../src/training/output_losses.js'

const batchOf = (labels: unknown, labelLengths?: Int32Array) => ({ labels, labelLengths }) as unknown as LayerBatch
const rowsOf = (labels: unknown, labelLengths?: Int32Array) =>
  labelRows(batchOf(labels, labelLengths)).map((row) => Array.from(row))

describe('labelRows', () => {
  const dense = { data: Int32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] }

  test('are the rows of a tensor, up to their lengths where these are given', () => {
    expect(rowsOf(dense)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
    expect(rowsOf(dense, Int32Array.of(2, 0))).toEqual([[1, 2], []])
  })

  test('are lists as they are given', () => {
    const lists = [[1], [], [2, 3]]
    expect(rowsOf(lists)).toEqual(lists)
  })

  test('are empty for tensors without rows or columns', () => {
    expect(rowsOf({ data: new Int32Array(0), shape: [0, 3] })).toEqual([])
    expect(rowsOf({ data: new Int32Array(0), shape: [2, 0] })).toEqual([[], []])
  })
})

describe('greedyLabels', () => {
  /** [T,B,C] of one row whose likeliest classes are `classes`. */
  const logits = (...classes: readonly number[]) => ({
    data: Float32Array.from(classes.flatMap((own) => [0, 1, 2].map((each) => Number(each === own)))),
    shape: [classes.length, 1, 3],
  })

  test('leave out blanks, and repeats that no blank separates', () => {
    expect(greedyLabels(logits(0, 0, 2, 0, 1, 1), null, { name: 'ctc' })).toEqual([[0, 0, 1]])
  })

  test('end at the length of a row', () => {
    const given = logits(0, 1, 0)
    for (const lengths of [[2], Int32Array.of(2)])
      expect(greedyLabels(given, lengths, { name: 'ctc' })).toEqual([[0, 1]])
    expect(greedyLabels(given, [0], { name: 'ctc' })).toEqual([[]])
  })

  test('refuse a length beyond the steps', () => {
    expect(() => greedyLabels(logits(0, 1), [3], { name: 'ctc' })).toThrow(coded('ERR_SEQUENCE_LENGTHS'))
  })
})
