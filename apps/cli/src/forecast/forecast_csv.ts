import { required } from '@cudnn-rnn/arguments'
import type { Forecast } from '@cudnn-rnn/rnn/tasks'
import { csvField } from '../csv_field.js'
import type { Series } from './series.js'
import { afterSteps, dateText } from './step_dates.js'

/** The steps after the end of a series, as people read them: dates, else numbers of rows. */
export function futureLabels({ dates, step }: Series, { origin, values }: Forecast): string[] {
  return values.map((_, k) => {
    const index = origin + 1 + k
    return dates === undefined
      ? String(index + 1)
      : dateText(
          afterSteps(dates[0], required(step, 'the step of the dates'), index),
          required(step, 'the step of the dates'),
        )
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
