import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { collapseRepeated, paddedLabels } from '../../../src/executor/arguments/ctc_labels.js'

const padded = (labels: unknown, lengths?: readonly number[]) => paddedLabels('test', labels as never, lengths)
const tensor = (values: readonly number[], shape: readonly number[]) => ({ data: Int32Array.from(values), shape })

describe('paddedLabels', () => {
  it.each<[string, unknown, ReturnType<typeof tensor>, number[]]>([
    ['rows of any length', [[1, 2, 3], [4], []], tensor([1, 2, 3, 4, 0, 0, 0, 0, 0], [3, 3]), [3, 1, 0]],
    ['rows of integers', [Int32Array.of(7)], tensor([7], [1, 1]), [1]],
    ['rows without labels', [[], []], tensor([], [2, 0]), [0, 0]],
    ['no rows', [], tensor([], [0, 0]), []],
  ])('pads %s with zeros', (_, labels, expected, lengths) => {
    expect(padded(labels)).toEqual({ labels: expected, labelLengths: lengths })
  })

  it('takes a tensor with the lengths of its rows, all columns by default', () => {
    const given = tensor([1, 2, 3, 4], [2, 2])
    expect(padded(given)).toEqual({ labels: given, labelLengths: Int32Array.of(2, 2) })
    expect(padded(given, [1, 0]).labelLengths).toEqual([1, 0])
  })

  it.each<[string, unknown, number | undefined]>([
    ['a fraction', [[1], [0.5]], 1],
    ['a number beyond 32 bits', [[2 ** 31]], 0],
    ['a text', [['1']], 0],
    ['a gap', [new Array(1)], 0],
    ['a row that is not an array', [[1], 'ab'], 1],
    ['a row of fractions', [Float32Array.of(0.5)], 0],
  ])('refuses %s, naming the row', (_, labels, row) => {
    expect(() => padded(labels)).toThrow(coded('ERR_CTC_LABELS', { name: 'TypeError', row }))
  })

  it('refuses lengths beside rows, and values that are not labels', () => {
    expect(() => padded([[1]], [1])).toThrow(coded('ERR_CTC_LABELS', { argument: 'labelLengths' }))
    for (const labels of [undefined, 3, 'ab']) expect(() => padded(labels)).toThrow(coded('ERR_NOT_A_TENSOR'))
  })
})

describe('collapseRepeated', () => {
  it('keeps one of each run, within the length of a row', () => {
    const given = padded(tensor([1, 1, 2, 2, 3, 3, 3, 3], [2, 4]), [3, 2])
    expect(collapseRepeated(given)).toEqual({ labels: tensor([1, 2, 3, 0], [2, 2]), labelLengths: [2, 1] })
    expect(collapseRepeated(padded([[], [5, 4, 5]])).labelLengths).toEqual([0, 3])
  })
})
