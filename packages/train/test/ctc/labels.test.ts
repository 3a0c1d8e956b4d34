import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { blankClass, checkedBlank } from '../../src/ctc/blank.js'
import { checkCtcLossSettings, ctcBlank } from '../../src/ctc/ctc_loss_settings.js'
import { ctcLoss } from '../../src/ctc/index.js'

it.each([[[3, 2]], [[-1, 2]], [[1.5, 2]], [[1]], [[1, 2, 0]]])(
  'collapses labels after the check of the lengths: %o',
  async (lengths) => {
    using backend = openReferenceBackend()
    const logits = { data: new Float32Array(5 * 2 * 4), shape: [5, 2, 4] }
    const labels = { data: Int32Array.of(0, 1, 2, 1), shape: [2, 2] }
    for (const preprocessCollapseRepeated of [false, true]) {
      const options = { labelLengths: lengths, preprocessCollapseRepeated }
      await expect(
        (async () => ctcLoss(backend, { logits, labels, logitLengths: [5, 5], ...options }))(),
      ).rejects.toThrow(coded('ERR_SEQUENCE_LENGTHS'))
    }
  },
)

describe('the blank', () => {
  it('is the first or last class, or a number', () => {
    expect([blankClass('first', 5), blankClass('last', 5), blankClass(3, 5)]).toEqual([0, 4, 3])
    expect([checkedBlank('test', 'last', 1), checkedBlank('test', 0, 1)]).toEqual([0, 0])
  })

  it.each([-1, 5, 0.5, Number.NaN, 'middle', undefined])('is not %s of 5 classes', (blank) => {
    expect(() => checkedBlank('test', blank as never, 5)).toThrow(coded('ERR_CTC_BLANK', { value: blank, classes: 5 }))
  })

  it('is none of no classes', () => {
    for (const blank of ['first', 'last', 0] as const) {
      expect(() => checkedBlank('test', blank, 0)).toThrow(coded('ERR_CTC_BLANK'))
    }
  })

  it("is that of the settings, or of their library's convention", () => {
    expect(ctcBlank('test', {}, 6)).toBe(5)
    expect(ctcBlank('test', { convention: 'pytorch' }, 6)).toBe(0)
    expect(ctcBlank('test', { convention: 'pytorch', blank: 'last' }, 6)).toBe(5)
  })
})

describe('checkCtcLossSettings', () => {
  it('takes each setting, left out or undefined', () => {
    checkCtcLossSettings('test', {})
    checkCtcLossSettings('test', { convention: undefined, zeroInfinity: undefined, reduction: 'sum' })
    checkCtcLossSettings('test', { logits: 1 } as object, ['logits'])
  })

  it.each<[object, string, string | undefined]>([
    [{ convention: 'keras' }, 'ERR_INVALID_OPTION', 'convention'],
    [{ convention: 'toString' }, 'ERR_INVALID_OPTION', 'convention'],
    [{ reduction: 'max' }, 'ERR_INVALID_OPTION', 'reduction'],
    [{ reduction: null }, 'ERR_INVALID_OPTION_TYPE', 'reduction'],
    [{ zeroInfinity: 1 }, 'ERR_INVALID_OPTION_TYPE', 'zeroInfinity'],
    [{ ctcMergeRepeated: 'yes' }, 'ERR_INVALID_OPTION_TYPE', 'ctcMergeRepeated'],
    [{ preprocessCollapseRepeated: null }, 'ERR_INVALID_OPTION_TYPE', 'preprocessCollapseRepeated'],
    [{ ignoreLongerOutputsThanInputs: 0 }, 'ERR_INVALID_OPTION_TYPE', 'ignoreLongerOutputsThanInputs'],
    [{ zero_infinity: true }, 'ERR_UNKNOWN_OPTION', undefined],
    [{ logits: 1 }, 'ERR_UNKNOWN_OPTION', undefined],
  ])('refuses %o', (settings, code, option) => {
    expect(() => checkCtcLossSettings('test', settings)).toThrow(coded(code, option === undefined ? {} : { option }))
  })
})
