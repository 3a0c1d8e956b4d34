import type { Forecast } from '@cudnn-rnn/rnn/tasks'
import { csvField } from '../csv_field.js'
import type { Series } from './series.js'
import { afterSteps, dateText } from './step_dates.js'

/** The steps after the end of a series, as people read them: dates, else numbers of rows. */
export function futureLabels({ regular }: Series, { origin, values }: Forecast): string[] {
  return values.map((_, k) => {
    const index = origin + 1 + k
    if (regular === undefined) return String(index + 1)
    return dateText(afterSteps(regular.dates[0], regular.step, index), regular.step)
  })
}

/** `date,forecast,low,high`, with the column of series before it where there are several. */
export function forecastCsv(
  results: readonly { readonly series: Series; readonly future: Forecast | undefined }[],
  seriesColumn: string | undefined,
): string {
  const rows = results.flatMap(({ series, future }) => {
    if (future === undefined) return []
    const name = seriesColumn === undefined ? [] : [csvField(series.name)]
    return futureLabels(series, future).map((date, k) =>
      [...name, date, future.values[k], future.low[k], future.high[k]].join(','),
    )
  })
  const header = [...(seriesColumn === undefined ? [] : [csvField(seriesColumn)]), 'date,forecast,low,high'].join(',')
  return `${[header, ...rows].join('\n')}\n`
}
