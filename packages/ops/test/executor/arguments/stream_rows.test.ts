import { describeValue } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkStreamBatch, checkStreamRows, StreamRows } from '../../../src/executor/index.js'

describe('checkStreamRows', () => {
  it('copies rows, of which some may be named twice', () => {
    const rows = [2, 0, 2]
    const checked = checkStreamRows(3, rows)
    rows[0] = 9
    expect(checked).toEqual([2, 0, 2])
    expect(checkStreamRows(3, Int32Array.of(1))).toEqual([1])
    expect(checkStreamRows(3, [])).toEqual([])
  })

  it.each([3, -1, 0.5, '0', undefined])('refuses row %s', (row) => {
    expect(() => checkStreamRows(3, [0, row as number])).toThrow(
      coded('ERR_STREAM_ROW', {
        message: `Cannot reset a stream as rows must be in 0..2: current value is ${describeValue(row)}`,
        row,
      }),
    )
  })

  it.each([3, 'ab', null, new Float32Array(1), new Set([0])])('refuses %o for rows', (rows) => {
    expect(() => checkStreamRows(3, rows as never)).toThrow(coded('ERR_STREAM_ROW', { name: 'TypeError' }))
  })
})

describe('StreamRows', () => {
  it('takes the rows of one call after another', () => {
    const rows = new StreamRows(4)
    expect(rows.take('step', [3, 1])).toBe(2)
    expect([...rows.numbers.subarray(0, 2)]).toEqual([3, 1])
    expect(rows.take('step', Int32Array.of(0, 1, 2, 3))).toBe(4)
    expect([...rows.numbers]).toEqual([0, 1, 2, 3])
    expect(rows.take('step', [])).toBe(0)
  })

  it('allocates once', () => {
    const rows = new StreamRows(2)
    rows.take('step', [0])
    const { numbers } = rows
    rows.take('step', [1, 0])
    expect(rows.numbers).toBe(numbers)
  })

  it('copies rows for a call that takes longer', () => {
    const rows = new StreamRows(3)
    const copy = rows.copyOf('step', [2, 0])
    rows.take('step', [1])
    expect(copy).toEqual(Int32Array.of(2, 0))
  })

  it.each<[unknown[], string, object]>([
    [[0, 1, 0], 'each row may be named once: row 0 is named again at position 2', { row: 0, position: 2 }],
    [[0, 3], 'rows must be in 0..2: current value is 3', { row: 3 }],
    [[Number.NaN], 'rows must be in 0..2: current value is NaN', { row: Number.NaN }],
    [[0, 1, 2, 0], 'the stream has 3 rows and each may be named once: current number is 4', { batch: 3, count: 4 }],
  ])('refuses %o, and takes the same rows as before afterwards', (given, rule, fields) => {
    const rows = new StreamRows(3)
    expect(() => rows.take('step', given as number[])).toThrow(
      coded('ERR_STREAM_ROW', { message: `Cannot step as ${rule}`, ...fields }),
    )
    expect(rows.take('step', [0, 1, 2])).toBe(3)
  })
})

describe('checkStreamBatch', () => {
  it.each([0, -1, 1.5, 2 ** 53, '1', undefined])('refuses %s', (batch) => {
    expect(() => checkStreamBatch(batch as number)).toThrow(
      coded('ERR_INVALID_OPTION', {
        message: `Cannot open a stream as batch must be an integer >= 1: current value is ${describeValue(batch)}`,
        option: 'batch',
      }),
    )
    checkStreamBatch(1)
  })
})
