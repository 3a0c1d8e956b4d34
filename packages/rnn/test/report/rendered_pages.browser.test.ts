import { afterEach, describe, expect, it } from 'vitest'
import { gateHistograms } from '../../src/report/gate_histograms.js'
import { htmlPage, type PageSection } from '../../src/report/html_page.js'
import { type LineChartOptions, lineChart } from '../../src/report/line_chart.js'
import { tableHtml } from '../../src/report/result_table.js'
import { trainingSections } from '../../src/report/training_sections.js'

const DAY = 24 * 3600 * 1000

const reports = Array.from({ length: 300 }, (_, k) => ({
  step: k + 1,
  loss: 1 + 6 * Math.exp(-k / 10) + 0.05 * Math.sin(k * 12.9898),
  learningRate: 0.01 * Math.min(1, k / 20),
  gradientNorm: 1 + Math.exp(-k / 40),
  skipped: false,
  seconds: 0.02,
  ...(k % 30 === 29 && { metrics: { loss: 1.1 } }),
}))

const gates = ['input', 'forget', 'new_memory', 'output'].flatMap((gate) =>
  ['input', 'recurrent'].map((side) => ({
    name: `layer_0/forward/${side}/${gate}`,
    values: Float32Array.from({ length: 500 }, (_, k) => Math.sin(k * 1.3) + Math.sin(k * 2.7)),
  })),
)

/** A line over `count` days, with values from `low` to `high`. */
const days = (count: number, low: number, high: number): LineChartOptions => ({
  x: 'date',
  y: 'a value with a name of some length',
  series: [
    {
      label: 'values',
      color: 'var(--ours)',
      points: Array.from({ length: count }, (_, k) => ({
        x: new Date(Date.UTC(2023, 9, 20) + k * DAY),
        y: low + ((high - low) * k) / (count - 1),
      })),
    },
  ],
})

const PAGES: Readonly<Record<string, readonly PageSection[]>> = {
  'a training run with baselines near each other': trainingSections({
    reports,
    lossLabel: 'bits per character',
    metric: 'loss',
    rules: [
      { y: 1.3, text: 'bigram 1.30' },
      { y: 1.29, text: 'trigram 1.29' },
      { y: 1.28, text: 'fourgram 1.28' },
      { y: 0.92, text: 'fivegram 0.92' },
    ],
    itemsPerStep: 3200,
    itemName: 'characters',
    gates,
  }),
  'a table of long numbers': [
    {
      heading: 'Result',
      html: tableHtml({
        header: ['forecaster', 'mean absolute error', 'root mean squared error', 'against seasonal naive'],
        rows: [['linear regression', '0.000001542', '0.000003073', '+0.0000015']],
      }),
    },
  ],
  'weights by gate': [{ heading: 'Weights', html: gateHistograms(gates) }],
  'dates within a month': [{ heading: 'Days', html: lineChart(days(12, 0, 1)) }],
  'dates over months': [{ heading: 'Months', html: lineChart(days(130, 70, 140)) }],
  'dates over years': [{ heading: 'Years', html: lineChart(days(4000, -1e6, 1e6)) }],
  'a logarithmic axis': [{ heading: 'Logarithmic', html: lineChart({ ...days(40, 0.01, 500), logarithmic: true }) }],
  'small and large values': [
    { heading: 'Small', html: lineChart(days(40, 0, 0.00000312)) },
    { heading: 'Large', html: lineChart(days(40, 1.2e12, 1.3e12)) },
  ],
  'parts of a series': [
    [3, 4],
    [36, 38],
  ].map(([first, second]) => {
    const starts = [first, second].map((day) => ({ x: new Date(Date.UTC(2023, 9, 20) + day! * DAY), text: 'held out' }))
    return { heading: 'Parts', html: lineChart({ ...days(40, 0, 1), starts, narrowFrom: starts[0]!.x }) }
  }),
  'a constant series': [{ heading: 'Constant', html: lineChart(days(40, 5, 5)) }],
}

let frame: HTMLIFrameElement | undefined

afterEach(() => frame?.remove())

async function render(sections: readonly PageSection[], width: number): Promise<Document> {
  frame = document.createElement('iframe')
  frame.style.width = `${width}px`
  frame.style.height = '900px'
  frame.srcdoc = htmlPage({ title: 'A page', resultHtml: '<b>1.2</b>', sections })
  const loaded = new Promise((resolve) => frame!.addEventListener('load', resolve))
  document.body.append(frame)
  await loaded
  for (const details of frame.contentDocument!.querySelectorAll('details')) details.open = true
  return frame.contentDocument!
}

interface Text {
  readonly content: string
  readonly box: DOMRect
  readonly size: number
}

/** The texts of the charts that are seen, line by line, with the size at which a reader sees them. */
function textsOf(chart: SVGSVGElement): Text[] {
  const scale = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width
  return [...chart.querySelectorAll('text')].flatMap((text) => {
    const size = Number.parseFloat(getComputedStyle(text).fontSize) * scale
    const parts = text.querySelectorAll('tspan').length > 0 ? [...text.querySelectorAll('tspan')] : [text]
    return parts
      .map((part) => ({ content: part.textContent ?? '', box: part.getBoundingClientRect(), size }))
      .filter(({ content }) => content.trim() !== '')
  })
}

/** Boxes of text have space above and below the letters. */
const LEADING = 2

function overlaps(a: DOMRect, b: DOMRect): boolean {
  return (
    a.left < b.right && b.left < a.right && a.top + LEADING < b.bottom - LEADING && b.top + LEADING < a.bottom - LEADING
  )
}

describe.each(Object.entries(PAGES))('a page with %s', (_, sections) => {
  it.each([360, 700, 740, 1280])('has no text over text, cut off or too small to read at %i px', async (width) => {
    const page = await render(sections, width)
    const charts = [...page.querySelectorAll('svg')].filter((chart) => chart.getBoundingClientRect().width > 0)
    expect(charts.length).toBe(page.querySelectorAll('svg').length / 2)
    expect(page.documentElement.scrollWidth).toBeLessThanOrEqual(width)
    const problems = charts.flatMap((chart) => {
      const outer = chart.getBoundingClientRect()
      const texts = textsOf(chart)
      expect(texts.length).toBeGreaterThan(2)
      return texts.flatMap((text, index) => [
        ...texts
          .slice(index + 1)
          .flatMap((other) => (overlaps(text.box, other.box) ? [`${text.content} over ${other.content}`] : [])),
        ...(text.size < 10 ? [`${text.content} is ${text.size} px high`] : []),
        ...(text.box.left < outer.left - 1 || text.box.right > outer.right + 1 ? [`${text.content} is cut off`] : []),
        ...(text.box.top < outer.top - LEADING || text.box.bottom > outer.bottom + LEADING
          ? [`${text.content} is cut off`]
          : []),
      ])
    })
    expect(problems).toEqual([])
  })
})
