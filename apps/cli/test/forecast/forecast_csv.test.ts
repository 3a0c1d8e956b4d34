import { describe, expect, it } from 'vitest'
import { forecastCsv, futureLabels } from '../../src/forecast/forecast_csv.js'
import type { Series } from '../../src/forecast/series.js'

const future = { origin: 2, values: [1.5, 2.5], low: [1, 2], high: [2, 3], linear: [1, 2], seasonalNaive: [0, 0] }
const numbered = { name: 'a', axis: undefined } as unknown as Series
const monthly = {
  name: 'b, "c"',
  axis: { text: (step: number) => new Date(Date.UTC(2020, 10 + step, 1)).toISOString().slice(0, 10) },
} as unknown as Series

describe('futureLabels', () => {
  it('counts rows from 1 if there are no dates', () => {
    expect(futureLabels(numbered, future)).toEqual(['4', '5'])
  })

  it('continues the dates of the series, over the end of a year', () => {
    expect(futureLabels(monthly, future)).toEqual(['2021-02-01', '2021-03-01'])
  })
})

describe('forecastCsv', () => {
  it('has a row for each step, with its interval', () => {
    expect(forecastCsv([{ series: numbered, future }], undefined)).toBe(
      'date,forecast,low,high\n4,1.5,1,2\n5,2.5,2,3\n',
    )
  })

  it('names the series, whose names are quoted where they must be', () => {
    const results = [numbered, monthly].map((series) => ({ series, future }))
    expect(forecastCsv(results, 'shop').split('\n')).toEqual([
      'shop,date,forecast,low,high',
      'a,4,1.5,1,2',
      'a,5,2.5,2,3',
      '"b, ""c""",2021-02-01,1.5,1,2',
      '"b, ""c""",2021-03-01,2.5,2,3',
      '',
    ])
  })

  it('leaves out a series whose covariates end', () => {
    expect(forecastCsv([{ series: numbered, future: undefined }], 'shop')).toBe('shop,date,forecast,low,high\n')
  })
})
