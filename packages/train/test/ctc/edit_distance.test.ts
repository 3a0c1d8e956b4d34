import { describe, expect, it } from 'vitest'
import fixture from '../../../../fixtures/ctc/edit_distance.json'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { editDistance, labelErrorRate } from '../../src/ctc/index.js'

describe('editDistance', () => {
  it("equals TensorFlow's edit_distance in 60 random cases", () => {
    for (const { hypothesis, truth, normalize, distance } of fixture.cases) {
      expect(editDistance(hypothesis, truth, { normalize })).toBeCloseTo(Number(distance), 6)
    }
  })

  it.each(['kitten', new Proxy(Int32Array.of(1), {}), { length: 2 ** 31 }, { length: -1 }, { length: 0.5 }, null])(
    'refuses %o in the place of an array',
    (value) => {
      expect(() => editDistance(value as never, [])).toThrow(coded('ERR_CTC_LABELS'))
      expect(() => editDistance([], value as never)).toThrow(coded('ERR_CTC_LABELS'))
    },
  )
})

describe('labelErrorRate', () => {
  it('reads the number of elements once, which may grow', () => {
    let count = 1
    const growing = new Proxy([1], { get: (list, name) => (name === 'length' ? count++ : Reflect.get(list, name)) })
    expect(editDistance(growing, [1])).toBe(0)
    expect(labelErrorRate([[1]], [growing]).labels).toBe(2)
  })

  it('counts edits over all labels, and averages normalized distances', () => {
    const { rate, meanRate, edits, labels } = labelErrorRate([[...'kitten'], []], [[...'sitting'], [...'a']])
    expect([edits, labels]).toEqual([4, 8])
    expect(rate).toBe(0.5)
    expect(meanRate).toBeCloseTo((3 / 7 + 1) / 2, 12)
  })

  it('is 0 for nothing, and ∞ for labels if there are none', () => {
    expect(labelErrorRate([[]], [[]]).rate).toBe(0)
    expect(labelErrorRate([[1]], [[]]).rate).toBe(Number.POSITIVE_INFINITY)
  })

  it('refuses another number of hypotheses', () => {
    expect(() => labelErrorRate([[1]], [])).toThrow(coded('ERR_SHAPE'))
    expect(() => labelErrorRate('a' as never, 'b' as never)).toThrow(coded('ERR_CTC_LABELS'))
  })
})
