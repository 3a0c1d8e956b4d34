import { describe, expect, it, test } from 'vitest'
import decoders from '../../../../fixtures/ctc/decoders.json'
import golden from '../../../../fixtures/ctc/golden.json'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { ctcBeamSearchDecoder, ctcGreedyDecoder, type PrefixScorer } from '../../src/ctc/index.js'
import { decodeFloat64, filledLogits, largestError } from './fixture.js'

const logitsOf = (rows: readonly (readonly number[])[][]) => {
  const [T, B, K] = [rows.length, rows[0].length, rows[0][0].length]
  return { data: Float64Array.from(rows.flat(2)), shape: [T, B, K] }
}

describe('ctcGreedyDecoder', () => {
  it("equals TensorFlow's in 60 random cases", () => {
    for (const fixture of decoders.greedy) {
      const { lengths, mergeRepeated } = fixture
      const { decoded, negSumLogits } = ctcGreedyDecoder(filledLogits(fixture, 'float32'), lengths, { mergeRepeated })
      expect(decoded).toEqual(fixture.decoded)
      expect(largestError(negSumLogits, decodeFloat64(fixture.negSumLogits))).toBeLessThan(1e-6)
    }
  })

  it('takes the first of equal classes, and a blank anywhere', () => {
    const logits = logitsOf([[[1, 1, 0]], [[0, 2, 2]], [[0, 0, 1]]])
    expect(ctcGreedyDecoder(logits, null).decoded).toEqual([[0, 1]])
    expect(ctcGreedyDecoder(logits, null, { blank: 1 }).decoded).toEqual([[0, 2]])
    expect(ctcGreedyDecoder(logits, null, { blank: 'first' }).decoded).toEqual([[1, 2]])
  })
})

describe('ctcBeamSearchDecoder', () => {
  it("equals TensorFlow's in 150 random cases of width, paths and merging", () => {
    for (const [index, fixture] of decoders.beam.entries()) {
      const { lengths, beamWidth, topPaths, mergeRepeated } = fixture
      const options = { beamWidth, topPaths, mergeRepeated }
      const result = ctcBeamSearchDecoder(filledLogits(fixture, 'float32'), lengths, options)
      expect(result.decoded, `case ${index}`).toEqual(fixture.decoded)
      const error = largestError(result.logProbabilities.data, decodeFloat64(fixture.logProbabilities))
      expect(error, `case ${index}`).toBeLessThan(2e-6)
    }
  })

  const widths = Object.entries(golden.beam_search_case_A.results)
  test.each(widths)('golden case A, %s', (name, expected) => {
    const [, width, paths, merge] = /^width(\d+)_top(\d+)_merge_(\w+)$/.exec(name)!
    const { logits } = golden.cases[0]
    const options = { beamWidth: Number(width), topPaths: Number(paths), mergeRepeated: merge === 'true' }
    const { logit_lengths, blank } = golden.beam_search_case_A
    const { decoded, logProbabilities } = ctcBeamSearchDecoder(logitsOf(logits), logit_lengths, { ...options, blank })
    for (const [row, beams] of expected.entries()) {
      expect(decoded.map((path) => path[row])).toEqual(beams.map(({ labels }) => labels))
      const scores = logProbabilities.data.subarray(row * options.topPaths, (row + 1) * options.topPaths)
      expect(
        largestError(
          scores,
          beams.map(({ log_prob }) => log_prob),
        ),
      ).toBeLessThan(1e-6)
    }
  })

  it('gives an empty prefix of probability 1 for a row of length 0', () => {
    const { decoded, logProbabilities } = ctcBeamSearchDecoder({ data: new Float32Array(3), shape: [1, 1, 3] }, [0])
    expect([decoded, [...logProbabilities.data]]).toEqual([[[[]]], [0]])
  })

  it('lets a scorer forbid and prefer prefixes', () => {
    const logits = logitsOf([[[2, 1, 0]], [[0, 0, 2]], [[1, 2, 0]]])
    const forbids: PrefixScorer<null> = {
      initialState: null,
      extend: (_, label) => ({ state: null, score: label === 0 ? Number.NEGATIVE_INFINITY : 0 }),
    }
    expect(ctcBeamSearchDecoder(logits, null, { mergeRepeated: false }).decoded).toEqual([[[0, 1]]])
    expect(ctcBeamSearchDecoder(logits, null, { mergeRepeated: false, scorer: forbids }).decoded).toEqual([[[1, 1]]])
    const longest: PrefixScorer<number> = {
      initialState: 0,
      extend: (length) => ({ state: length + 1, score: 0 }),
      end: (length) => -100 * length,
    }
    expect(ctcBeamSearchDecoder(logits, null, { scorer: longest }).decoded).toEqual([[[]]])
  })

  const ok = { data: new Float32Array(6), shape: [2, 1, 3] }
  test.each([
    [
      'more paths than the beam holds',
      'ERR_TOP_PATHS',
      () => ctcBeamSearchDecoder(ok, null, { beamWidth: 1, topPaths: 2 }),
    ],
    ['more paths than there are prefixes', 'ERR_TOP_PATHS', () => ctcBeamSearchDecoder(ok, [0], { topPaths: 2 })],
    ['a beam of 0', 'ERR_INVALID_OPTION', () => ctcBeamSearchDecoder(ok, null, { beamWidth: 0 })],
    ['NaN', 'ERR_CTC_LOGITS', () => ctcBeamSearchDecoder({ ...ok, data: ok.data.map(() => Number.NaN) }, null)],
    ['NaN, greedily', 'ERR_CTC_LOGITS', () => ctcGreedyDecoder({ ...ok, data: ok.data.map(() => Number.NaN) }, null)],
    ['a negative length', 'ERR_SEQUENCE_LENGTHS', () => ctcGreedyDecoder(ok, [-1])],
    ['a blank that is not a class', 'ERR_CTC_BLANK', () => ctcGreedyDecoder(ok, null, { blank: 3 })],
    ['another rank', 'ERR_SHAPE', () => ctcGreedyDecoder({ data: new Float32Array(3), shape: [3] }, null)],
    ['integers', 'ERR_DTYPE', () => ctcGreedyDecoder({ data: new Int32Array(3), shape: [1, 1, 3] } as never, null)],
    ['an unknown option', 'ERR_UNKNOWN_OPTION', () => ctcGreedyDecoder(ok, null, { merge: true } as never)],
    [
      'a flag that is not boolean',
      'ERR_INVALID_OPTION_TYPE',
      () => ctcGreedyDecoder(ok, null, { mergeRepeated: 0 as never }),
    ],
  ])('refuses %s with %s', (_name, code, decode) => {
    expect(decode).toThrow(coded(code))
  })
})
