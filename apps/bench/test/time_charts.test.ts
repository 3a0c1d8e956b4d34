import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import type { BenchReport } from '../src/bench_report.js'
import { ratioChart, seriesColor, timesChart } from '../src/time_charts.js'
import { compared, measured, sampleReport, series } from './sample_report.js'

const svg = (chart: string) => parseHTML(`<body>${chart}</body>`).document.querySelector('svg')!
const only = (...comparisons: BenchReport['comparisons'][number][]): BenchReport => ({ ...sampleReport, comparisons })

it('seriesColor repeats the colors of a page after its eighth', () => {
  expect([0, 7, 8].map(seriesColor)).toEqual(['var(--series-0)', 'var(--series-7)', 'var(--series-0)'])
})

describe('timesChart', () => {
  it('has a dot for each time of the pass, in the color of its implementation', () => {
    const dots = [...svg(timesChart(sampleReport, 'training')).querySelectorAll('circle')]
    expect(dots.map((dot) => dot.getAttribute('fill'))).toEqual(['var(--series-0)', 'var(--series-2)'])
  })

  it('leaves out cells of other sections', () => {
    const busy = sampleReport.comparisons.filter(({ section }) => section === 'busy')
    expect(svg(timesChart(only(...busy), 'inference')).querySelectorAll('circle')).toHaveLength(0)
  })

  it('grows with the number of sizes', () => {
    const cell = (numUnits: number) => compared('table', { numUnits }, [series('cpu'), measured(1)])
    const height = (...units: number[]) =>
      Number(svg(timesChart(only(...units.map(cell)), 'inference')).getAttribute('height'))
    expect(height(64, 128)).toBeGreaterThan(height(64))
    expect(height(64, 64)).toBe(height(64))
  })
})

describe('ratioChart', () => {
  it('writes the ratio to the first executor, on the side of its bar', () => {
    const slower = compared('table', {}, [series('cpu'), measured(5)], [series('pytorch'), measured(2)])
    const chart = svg(ratioChart(only(...sampleReport.comparisons.slice(0, 2), slower), 'inference'))
    const anchors = [...chart.querySelectorAll('[text-anchor]')].filter((mark) => mark.textContent?.includes('×'))
    const texts = (anchor: string) =>
      anchors.filter((mark) => mark.getAttribute('text-anchor') === anchor).map((mark) => mark.textContent)
    expect(texts('start').join()).toContain('2.50 ×')
    expect(texts('end').join()).toContain('0.75 ×')
    expect(texts('end').join()).not.toContain('2.50 ×')
  })

  it('draws no bar without a baseline', () => {
    const chart = svg(ratioChart(only(compared('table', {}, [series('cpu'), measured(5)])), 'inference'))
    expect(chart.textContent).not.toContain('×')
  })
})
