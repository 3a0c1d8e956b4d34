import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type LineChartOptions, lineChart } from '../../src/report/index.js'

const OPTIONS: LineChartOptions = {
  x: 'step',
  y: 'loss',
  series: [{ label: 'training', color: 'red', points: [1, 2, 3].map((x) => ({ x, y: 1 / x })) }],
}

/** The wide one of the two charts. */
function chart(changes: Partial<LineChartOptions> = {}) {
  const { document } = parseHTML(`<body>${lineChart({ ...OPTIONS, ...changes })}</body>`)
  return { document, svg: document.querySelector('svg.wide')! }
}

const series = (...points: (readonly [number | Date, number])[]) => [
  { label: 'training', color: 'red', points: points.map(([x, y]) => ({ x, y })) },
]

describe('lineChart', () => {
  it('has a legend entry for each series with points, as text', () => {
    const more = [...OPTIONS.series, { label: 'a < b', color: 'blue', points: [{ x: 1, y: 2 }] }]
    const { document } = chart({ series: [...more, { label: 'empty', color: 'green', points: [] }] })
    expect([...document.querySelectorAll('.legend span')].map((span) => span.textContent)).toEqual([
      'training',
      'a < b',
    ])
  })

  it('shows the value of each of up to 120 points of a series', () => {
    const points = (count: number) => Array.from({ length: count }, (_, k) => [k, Math.sin(k)] as const)
    const titles = (count: number) => chart({ series: series(...points(count)) }).svg.querySelectorAll('title').length
    expect([titles(120), titles(121)]).toEqual([120, 61])
  })

  it('leaves a gap at values that are not finite', () => {
    const { svg } = chart({
      series: series([1, 1], [2, 2], [3, Number.NaN], [4, Number.POSITIVE_INFINITY], [5, 2], [6, 1]),
    })
    const path = svg.querySelector('[aria-label=line] path')?.getAttribute('d')
    expect(path?.match(/M/g)).toHaveLength(2)
    expect(path).not.toMatch(/NaN|Infinity/)
  })

  it('writes dates as dates, and long numbers shortly', () => {
    const days = [1, 2, 3].map((day) => [new Date(Date.UTC(2026, 0, day)), 150_000 * day] as const)
    const { svg } = chart({ series: series(...days) })
    expect(svg.querySelector('title')?.textContent).toBe('training, step 2026-01-01: 150000')
    expect(svg.textContent).toContain('200K')
    expect(chart({ series: series([1, 1e-6], [2, 3e-6]) }).svg.textContent).toContain('2e-6')
  })

  it('labels rules with their texts, and draws bands', () => {
    const { svg } = chart({
      rules: [
        { y: 0.5, text: 'baseline <0.5>' },
        { y: 0.51, text: 'other' },
      ],
      bands: [1, 2, 3].map((x) => ({ x, low: 0, high: 1 })),
    })
    expect(svg.textContent).toContain('baseline <0.5>')
    expect(svg.querySelectorAll('[aria-label=rule] line, [aria-label=rule][stroke-dasharray]').length).toBeGreaterThan(
      0,
    )
    expect(svg.querySelector('[aria-label=area] path')).not.toBeNull()
  })

  it('names where parts begin, and draws the late part alone on a narrow screen', () => {
    const starts = [1, 3].map((x) => ({ x, text: `from ${x}` }))
    const { document, svg } = chart({ starts, narrowFrom: 2 })
    const pointed = (size: string) => document.querySelectorAll(`svg.${size} circle`).length
    expect(svg.textContent).toContain('from 1')
    // Above the frame, in which the series are.
    const raised = [...svg.querySelectorAll('[aria-label=text]')].map(
      (text) => /,(-?[\d.]+)\)/.exec(text.outerHTML)?.[1],
    )
    expect(raised.map(Number).every((height) => height < -12)).toBe(true)
    expect(document.querySelector('svg.narrow')?.textContent).toMatch(/^(?!.*from 1).*from 3/s)
    expect([pointed('wide'), pointed('narrow')]).toEqual([3, 2])
  })

  it.each<[string, Partial<LineChartOptions>]>([
    ['no points', { series: [] }],
    ['one point', { series: series([1, 3]) }],
    ['equal values', { series: series([1, 0], [2, 0]) }],
    ['values that are not finite', { series: series([1, Number.NaN], [2, Number.NEGATIVE_INFINITY]) }],
    ['a logarithm of 0 and negative values', { series: series([1, 0], [2, -1], [3, 10]), logarithmic: true }],
    ['a top below its values', { top: 0.1 }],
  ])('draws %s without a coordinate that is none', (_, changes) => {
    expect(lineChart({ ...OPTIONS, ...changes })).not.toMatch(/NaN|Infinity|undefined/)
  })

  it('refuses points without numbers, and a height of nothing', () => {
    const code = coded('ERR_INVALID_ARGUMENT')
    expect(() =>
      lineChart({ ...OPTIONS, series: [{ label: 'a', color: 'b', points: [{ x: '1', y: 1 }] }] } as never),
    ).toThrow(code)
    expect(() => lineChart({ ...OPTIONS, x: undefined } as never)).toThrow(code)
    expect(() => lineChart({ ...OPTIONS, height: 0 })).toThrow()
  })
})
