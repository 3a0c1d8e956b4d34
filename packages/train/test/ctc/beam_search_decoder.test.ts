import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { ctcBeamSearchDecoder, type PrefixScorer } from '../../src/ctc/index.js'

/** Logits [T,1,K] of these rows of probabilities. */
function logitsOf(frames: readonly (readonly number[])[]) {
  return { data: Float64Array.from(frames.flat(), Math.log), shape: [frames.length, 1, frames[0].length] }
}

/** ln p of every labeling, by a sum over all K^T paths; the blank is the last class. */
function allLabelings(frames: readonly (readonly number[])[]): Map<string, number> {
  const classes = frames[0].length
  const sums = new Map<string, number>()
  const walk = (t: number, labels: readonly number[], last: number, p: number) => {
    if (t === frames.length) {
      sums.set(labels.join(), (sums.get(labels.join()) ?? 0) + p)
      return
    }
    const total = frames[t].reduce((sum, value) => sum + value, 0)
    for (let k = 0; k < classes; k++) {
      const isNew = k !== classes - 1 && k !== last
      walk(t + 1, isNew ? [...labels, k] : labels, k, (p * frames[t][k]) / total)
    }
  }
  walk(0, [], -1, 1)
  return sums
}

/** Frames of whole numbers in 1..50, in proportion to the probabilities. */
const someFrames = [
  [2, 1],
  [2, 4],
  [2, 6],
  [3, 1],
  [3, 3],
  [3, 5],
  [4, 4],
].flatMap(([classes, time]) =>
  [1, 2, 3].map((seed) =>
    Array.from({ length: time }, (_, t) =>
      Array.from({ length: classes }, (_, k) => 1 + ((seed * 17 + t * t * 29 + k * 13 + t * k * 7) % 50)),
    ),
  ),
)

describe('ctcBeamSearchDecoder', () => {
  it('has the probability of every labeling where the beam holds all', () => {
    for (const frames of someFrames) {
      const expected = [...allLabelings(frames)].sort((a, b) => b[1] - a[1])
      const topPaths = expected.length
      const { decoded, logProbabilities } = ctcBeamSearchDecoder(logitsOf(frames), null, {
        ...{ beamWidth: 1000, topPaths, mergeRepeated: false },
      })
      const found = new Map(decoded.map(([labels], path) => [labels.join(), logProbabilities.data[path]]))
      expect(found.size).toBe(topPaths)
      for (const [labels, p] of expected) expect(found.get(labels)).toBeCloseTo(Math.log(p), 9)
      for (let path = 1; path < topPaths; path++) {
        expect(logProbabilities.data[path]).toBeLessThanOrEqual(logProbabilities.data[path - 1])
      }
    }
  })

  it('adds the scores of every label and of the end to the probability', () => {
    const frames = [
      [2, 3, 5],
      [4, 1, 5],
      [3, 3, 4],
    ]
    // Label 1 after label 0 costs 1, an end in label 0 costs 2.
    const scorer: PrefixScorer<number> = {
      initialState: -1,
      extend: (last, label) => ({ state: label, score: last === 0 && label === 1 ? -1 : 0 }),
      end: (last) => (last === 0 ? -2 : 0),
    }
    const all = allLabelings(frames)
    const { decoded, logProbabilities } = ctcBeamSearchDecoder(logitsOf(frames), null, {
      ...{ beamWidth: 1000, topPaths: all.size, mergeRepeated: false, scorer },
    })
    for (const [path, [labels]] of decoded.entries()) {
      const pairs = labels.filter((label, k) => label === 1 && labels[k - 1] === 0).length
      const end = labels.at(-1) === 0 ? 2 : 0
      const expected = Math.log(all.get(labels.join()) ?? 0) - pairs - end
      expect(logProbabilities.data[path]).toBeCloseTo(expected, 9)
    }
  })

  it('decodes each row of its length alone, for any padding', () => {
    const data = Float64Array.from({ length: 3 * 2 * 3 }, (_, k) => Math.sin(k * 7))
    const shape = [3, 2, 3]
    const whole = ctcBeamSearchDecoder({ data, shape }, [2, 3])
    for (const row of [0, 1]) {
      const length = [2, 3][row]
      const own = Float64Array.from({ length: length * 3 }, (_, k) => data[(Math.floor(k / 3) * 2 + row) * 3 + (k % 3)])
      const alone = ctcBeamSearchDecoder({ data: own, shape: [length, 1, 3] }, null)
      expect(whole.decoded[0][row]).toEqual(alone.decoded[0][0])
      expect(whole.logProbabilities.data[row]).toBeCloseTo(alone.logProbabilities.data[0], 12)
    }
    const padded = Float64Array.from(data)
    padded.fill(Number.NaN, (2 * 2 + 0) * 3, (2 * 2 + 0) * 3 + 3)
    expect(ctcBeamSearchDecoder({ data: padded, shape }, [2, 3])).toEqual(whole)
  })

  it('has one prefix, the empty one, for a row of length 0', () => {
    const logits = logitsOf([[1, 2, 3]])
    const { decoded, logProbabilities } = ctcBeamSearchDecoder(logits, [0])
    expect(decoded).toEqual([[[]]])
    expect(logProbabilities).toEqual({ data: Float64Array.of(0), shape: [1, 1] })
    expect(() => ctcBeamSearchDecoder(logits, [0], { topPaths: 2 })).toThrow(coded('ERR_TOP_PATHS', { maximum: 1 }))
  })

  it('takes the class of the blank from its option', () => {
    // Blank first: label 1 is the class after it.
    const frames = [[1, 6, 3]]
    const { decoded } = ctcBeamSearchDecoder(logitsOf(frames), null, { blank: 'first' })
    expect(decoded).toEqual([[[1]]])
  })

  it('refuses widths and numbers of paths that make no beam', () => {
    const logits = logitsOf([[1, 2, 3]])
    for (const beamWidth of [0, -1, 1.5, Number.NaN]) {
      expect(() => ctcBeamSearchDecoder(logits, null, { beamWidth })).toThrow(coded('ERR_INVALID_OPTION'))
    }
    expect(() => ctcBeamSearchDecoder(logits, null, { beamWidth: '3' as never })).toThrow(
      coded('ERR_INVALID_OPTION_TYPE', { option: 'beamWidth' }),
    )
    expect(() => ctcBeamSearchDecoder(logits, null, { beamWidth: 2, topPaths: 3 })).toThrow(
      coded('ERR_TOP_PATHS', { maximum: 2 }),
    )
    expect(() => ctcBeamSearchDecoder(logits, null, { topPaths: 4 })).toThrow(coded('ERR_TOP_PATHS', { maximum: 3 }))
    expect(() => ctcBeamSearchDecoder(logits, null, { width: 3 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
  })
})

describe('a scorer', () => {
  const logits = logitsOf([[1, 2, 3]])
  const decode = (scorer: object) => ctcBeamSearchDecoder(logits, null, { scorer: scorer as PrefixScorer<unknown> })
  const extending = (result: unknown) => ({ initialState: undefined, extend: () => result })
  const ending = (score: unknown) => ({ ...extending({ state: undefined, score: 0 }), end: () => score })

  it.each([
    ...[Number.POSITIVE_INFINITY, 1e308, -1e308, Number.NaN, 'text', null, undefined].flatMap((score) => [
      extending({ state: undefined, score }),
      ending(score),
    ]),
    ...[null, undefined, 3, 'text', Promise.resolve({ state: undefined, score: 0 })].map(extending),
    ending(Promise.resolve(0)),
  ])('that returns no finite score is refused: %o', (scorer) => {
    const message = expect.stringMatching(/the scorer's (extend|end) must return/)
    expect(() => decode(scorer)).toThrow(coded('ERR_CTC_SCORER', { message }))
  })

  it('may forbid a label', () => {
    expect(decode(extending({ state: undefined, score: Number.NEGATIVE_INFINITY })).decoded).toEqual([[[]]])
  })
})

it('refuses a beam that no memory holds', () => {
  const decode = () => ctcBeamSearchDecoder(logitsOf([[1, 2, 3]]), null, { beamWidth: 2 ** 31 })
  expect(decode).toThrow(coded('ERR_INVALID_OPTION'))
})
