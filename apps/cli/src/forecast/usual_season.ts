import { fillMissing, seasonOf } from '@cudnn-rnn/rnn/tasks'
import type { Series } from './series.js'

/** Seasons that are looked for in series without dates. */
const SEASONS = [4, 7, 12, 24, 52]

/** A season shows in the changes of a series from here on, as the correlation with those one season before. */
const CORRELATION = 0.3

/** Seasons that a series must have to learn from. */
const REPETITIONS = 6

/** The season that the dates of a series let expect, or that shows in its changes; 1 for none. */
export function usualSeason({ axis, values }: Pick<Series, 'axis' | 'values'>, length: number): number {
  const isLongEnough = (season: number) => length >= REPETITIONS * season
  if (axis !== undefined) {
    const season = seasonOf(Array.from({ length: axis.length }, (_, step) => axis.date(step)))
    return isLongEnough(season) ? season : 1
  }
  const filled = fillMissing(values.subarray(0, length), 1)
  const changes = Array.from(filled.subarray(1), (value, index) => value - filled[index])
  const correlations = SEASONS.filter(isLongEnough).map((season) => [season, correlation(changes, season)] as const)
  const [best] = correlations.sort(([, a], [, b]) => b - a)
  return best !== undefined && best[1] >= CORRELATION ? best[0] : 1
}

function correlation(changes: readonly number[], lag: number): number {
  const mean = changes.reduce((sum, change) => sum + change, 0) / changes.length
  const centered = changes.map((change) => change - mean)
  const product = centered.slice(lag).reduce((sum, change, index) => sum + change * centered[index], 0)
  const square = centered.reduce((sum, change) => sum + change * change, 0)
  return square === 0 ? 0 : product / square
}
