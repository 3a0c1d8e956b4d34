import { expect, it } from 'vitest'
import { accuracyOf, confusionMatrix, confusionTable, macroF1 } from '../../src/classify/confusion_matrix.js'

const matrix = confusionMatrix(['ham', 'spam'], [0, 0, 0, 1, 1], [0, 0, 1, 1, 0])

it('confusionMatrix counts predictions by true class', () => {
  expect(matrix.counts).toEqual([
    [2, 1],
    [1, 1],
  ])
  expect(accuracyOf(matrix)).toBe(3 / 5)
  // F1 of ham 2·2/(3+3), of spam 2·1/(2+2).
  expect(macroF1(matrix)).toBeCloseTo((2 / 3 + 1 / 2) / 2, 12)
  expect(confusionTable(matrix).rows).toEqual([
    ['is ham', '2', '1', '66.7 %'],
    ['is spam', '1', '1', '50.0 %'],
  ])
})

it('macroF1 counts a class that is never met as 0', () => {
  expect(macroF1(confusionMatrix(['a', 'b'], [0], [0]))).toBe(0.5)
})
