import { checkArguments, integerFrom } from '@cudnn-rnn/canonical/rules'
import { NUMBERS } from './time_series.js'

/**
 * A copy with the missing values (NaN) filled in. A gap has the shape of the season before it and
 * moves to the level of the value after it; without a season before it the values on both sides are interpolated. At either
 * end the nearest season, or the nearest value, is repeated. Throws TypeError `ERR_INVALID_ARGUMENT`.
 *
 * @example
 * ```ts
 * import { fillMissing } from '@cudnn-rnn/rnn/tasks'
 *
 * console.log(fillMissing([1, Number.NaN, 3], 1)) // [1, 2, 3]
 * ```
 */
export function fillMissing(values: ArrayLike<number>, season: number): Float64Array {
  const { values: own } = checkArguments('fill gaps', { values, season }, { values: NUMBERS, season: integerFrom(1) })
  const filled = Float64Array.from(own)
  const first = filled.findIndex((value) => !Number.isNaN(value))
  if (first < 0) return filled
  for (let index = first - 1; index >= 0; index--) {
    const later = index + season
    filled[index] = later < filled.length && !Number.isNaN(filled[later]) ? filled[later] : filled[index + 1]
  }
  for (let begin = first; begin < filled.length; begin++) {
    if (!Number.isNaN(filled[begin])) continue
    let end = begin
    while (end < filled.length && Number.isNaN(filled[end])) end++
    fillGap(filled, begin, end, season)
    begin = end
  }
  return filled
}

/** Fills begin..end-1; the value before it is known, the one at `end` if there is one. */
function fillGap(values: Float64Array, begin: number, end: number, season: number): void {
  // The last season before the gap, repeated; without one 0, which leaves the values themselves to interpolate.
  const hasSeason = season > 1 && begin > season
  const last = hasSeason ? values.slice(begin - season, begin) : Float64Array.of(0)
  const reference = (index: number) => last[(((index - begin) % last.length) + last.length) % last.length]
  const left = hasSeason ? 0 : values[begin - 1]
  const right = end < values.length ? values[end] - reference(end) : left
  for (let index = begin; index < end; index++) {
    const share = (index - begin + 1) / (end - begin + 1)
    values[index] = reference(index) + left + share * (right - left)
  }
}
