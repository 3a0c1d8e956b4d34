import type { Forecast } from '@cudnn-rnn/rnn/tasks'
import { csvField } from '../csv_field.js'
import type { Series } from './series.js'

/** The steps after the end of a series, as people read them: dates, else numbers of rows. */
export function futureLabels({ axis }: Series, { origin, values }: Forecast): string[] {
  return values.map((_, k) => {
    const index = origin + 1 + k
    return axis?.text(index) ?? String(index + 1)
  })
}

/** `date,forecast,low,high`, with the column of series before it if there are several. */
export function forecastCsv(
  results: readonly { readonly series: Series; readonly future: Forecast | undefined }[],
  seriesColumn: string | undefined,
): string {
  const rows = results.flatMap(({ series, future }) => {
    if (future === undefined) return []
    const name = seriesColumn === undefined ? [] : [csvField(series.name)]
    return futureLabels(series, future).map((date, k) =>
      [...name, csvField(date), future.values[k], future.low[k], future.high[k]].join(','),
    )
  })
  const header = [...(seriesColumn === undefined ? [] : [csvField(seriesColumn)]), 'date,forecast,low,high'].join(',')
  return `${[header, ...rows].join('\n')}\n`
}
