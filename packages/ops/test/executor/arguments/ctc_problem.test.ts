import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkCtcLoss } from '../../../src/executor/index.js'
import type { CtcLossOptions } from '../../../src/executor/operations/operation_types.js'
import { zeros } from '../stub_tensor.js'

const [T, B, K, S] = [4, 2, 5, 3] as const
const LABELS = Int32Array.of(1, 2, 9, 3, 9, 9)
const OPTIONS: CtcLossOptions = { labelLengths: [2, 1], logitLengths: [4, 3], blank: 0 }

const check = (options: object = {}, labels: unknown = { data: LABELS, shape: [B, S] }, logits = zeros(T, B, K)) =>
  checkCtcLoss('float32', logits, labels as never, { ...OPTIONS, ...options } as CtcLossOptions)

describe('checkCtcLoss', () => {
  it('completes the options, and clears the labels past the length of their row', () => {
    expect(check()).toEqual({
      ...{ time: T, batch: B, classes: K, maxLabels: S },
      labels: Int32Array.of(1, 2, 0, 3, 0, 0),
      labelLengths: Int32Array.of(2, 1),
      logitLengths: Int32Array.of(4, 3),
      ...{ blank: 0, mergeRepeated: true, infeasible: 'infinite' },
      rowWeights: Float64Array.of(1, 1),
    })
  })

  it('copies everything that its caller may overwrite', () => {
    const [labels, lengths, weights] = [LABELS.slice(), Int32Array.of(2, 1), Float32Array.of(0.5, 2)]
    const problem = check({ labelLengths: lengths, rowWeights: weights }, { data: labels, shape: [B, S] })
    for (const array of [labels, lengths, weights]) array.fill(4)
    expect(problem.labels).toEqual(Int32Array.of(1, 2, 0, 3, 0, 0))
    expect(problem.labelLengths).toEqual(Int32Array.of(2, 1))
    expect(problem.rowWeights).toEqual(Float64Array.of(0.5, 2))
  })

  it.each<[string, object]>([
    ['no label at all', { labelLengths: [0, 0] }],
    ['rows without frames', { logitLengths: [0, 0] }],
    ['rows of full length', { logitLengths: [T, T], labelLengths: [2, 1] }],
    ['the last class as the blank', { blank: K - 1 }],
    ['negative and zero weights', { rowWeights: [-1, 0] }],
    ['infeasible rows as NaN', { infeasible: 'nan' }],
    ['infeasible rows as zero', { infeasible: 'zero' }],
  ])('accepts %s', (_, options) => {
    expect(() => check(options)).not.toThrow()
  })

  it.each<[string, object, RegExp]>([
    ['ERR_UNKNOWN_OPTION', { zeroInfinity: true }, /current name is zeroInfinity/],
    ['ERR_CTC_BLANK', { blank: K }, /the blank must be an integer in 0\.\.4: current value is 5/],
    ['ERR_CTC_BLANK', { blank: -1 }, /current value is -1/],
    ['ERR_CTC_BLANK', { blank: undefined }, /current value is undefined/],
    ['ERR_INVALID_OPTION_TYPE', { mergeRepeated: 1 }, /mergeRepeated must be a boolean: current value is 1/],
    ['ERR_INVALID_OPTION', { infeasible: 'skip' }, /infeasible must be one of infinite, nan, zero/],
    ['ERR_SEQUENCE_LENGTHS', { labelLengths: [2] }, /labelLengths must have one length per batch row \(2\): .* is 1/],
    ['ERR_SEQUENCE_LENGTHS', { labelLengths: [2, 4] }, /labelLengths\[1\] must be an integer in 0\.\.3: .* is 4/],
    ['ERR_SEQUENCE_LENGTHS', { logitLengths: [5, 3] }, /logitLengths\[0\] must be an integer in 0\.\.4: .* is 5/],
    ['ERR_SEQUENCE_LENGTHS', { logitLengths: [4, -1] }, /logitLengths\[1\]/],
    ['ERR_SEQUENCE_LENGTHS', { logitLengths: [4, 1.5] }, /current value is 1\.5/],
    ['ERR_SEQUENCE_LENGTHS', { logitLengths: new Float32Array(2) }, /an array of integers or an Int32Array/],
    ['ERR_SEQUENCE_LENGTHS', { logitLengths: undefined }, /an array of integers or an Int32Array/],
    ['ERR_INVALID_OPTION_TYPE', { rowWeights: 'heavy' }, /rowWeights must be an array of numbers/],
    ['ERR_INVALID_OPTION_TYPE', { rowWeights: new BigInt64Array(B) }, /rowWeights must be an array of numbers/],
    ['ERR_INVALID_OPTION_TYPE', { rowWeights: new DataView(new ArrayBuffer(B)) }, /rowWeights must be an array/],
    ['ERR_SHAPE', { rowWeights: [1, 2, 3] }, /rowWeights must have one number per batch row \(2\): .* is 3/],
    ['ERR_HYPERPARAMETER', { rowWeights: [1, Number.NaN] }, /rowWeights\[1\] must be a finite number/],
    ['ERR_HYPERPARAMETER', { rowWeights: [1, '2'] }, /rowWeights\[1\] must be a finite number: current value is "2"/],
    ['ERR_HYPERPARAMETER', { rowWeights: [1, 2n] }, /rowWeights\[1\] must be a finite number: current value is 2n/],
  ])('refuses with %s %o', (code, options, message) => {
    expect(() => check(options)).toThrow(coded(code, { message: expect.stringMatching(message) }))
  })

  it.each<[string, number[], object]>([
    ['a negative label', [1, -1, 0, 3, 0, 0], { row: 0, position: 1, value: -1 }],
    ['a label beyond the classes', [1, 2, 0, K, 0, 0], { row: 1, position: 0, value: K }],
    ['the blank', [0, 2, 0, 3, 0, 0], { row: 0, position: 0, value: 0, blank: 0 }],
  ])('refuses %s, naming its place', (_, data, fields) => {
    const refuse = () => check({}, { data: Int32Array.from(data), shape: [B, S] })
    expect(refuse).toThrow(coded('ERR_CTC_LABEL', fields))
  })

  it.each<[string, unknown, string]>([
    ['floating labels', { data: new Float32Array(B * S), shape: [B, S] }, 'ERR_DTYPE'],
    ['labels of another batch', { data: new Int32Array(3 * S), shape: [3, S] }, 'ERR_SHAPE'],
    ['a flat list of labels', { data: LABELS, shape: [B * S] }, 'ERR_SHAPE'],
    ['no tensor', [1, 2], 'ERR_NOT_A_TENSOR'],
  ])('refuses %s', (_, labels, code) => {
    expect(() => check({}, labels)).toThrow(coded(code))
  })

  it.each([
    [0, B, K],
    [T, 0, K],
  ])('refuses logits without frames or rows: [%i,%i,%i]', (...shape) => {
    expect(() => check({}, undefined, zeros(...shape))).toThrow(
      coded('ERR_EMPTY_BATCH', { message: expect.stringContaining(`current shape is [${shape.join(',')}]`) }),
    )
  })
})
