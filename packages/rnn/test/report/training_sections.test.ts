import type { StepReport } from '@cudnn-rnn/train'
import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { htmlPage, trainingSections } from '../../src/report/index.js'

const report = (step: number, more: Partial<StepReport> = {}): StepReport => ({
  step,
  loss: 3 / step,
  learningRate: 0.01,
  gradientNorm: 1 + step / 10,
  skipped: false,
  seconds: 0.25,
  ...more,
})

const gates = ['input', 'forget', 'new_memory', 'output'].flatMap((gate) =>
  ['input', 'recurrent'].map((side) => ({
    name: `layer_0/forward/${side}/${gate}`,
    values: Float32Array.from({ length: 200 }, (_, k) => Math.sin(k)),
  })),
)

const curves = {
  reports: [
    ...Array.from({ length: 30 }, (_, k) => report(k + 1, k % 10 === 9 ? { metrics: { loss: 2 / k } } : {})),
    report(31, { loss: Number.NaN, gradientNorm: Number.POSITIVE_INFINITY, skipped: true }),
  ],
  lossLabel: 'bits per character',
  metric: 'loss',
  rules: [{ y: 1.5, text: 'bigram 1.50' }],
  itemsPerStep: 100,
  itemName: 'characters',
  gates,
}

it('trainingSections draws loss, rate, norm, throughput and the weights of every gate', () => {
  const sections = trainingSections(curves)
  expect(sections.map(({ heading }) => heading)).toEqual(['Loss', 'Details of the training'])
  const { document } = parseHTML(htmlPage({ title: 'run', resultHtml: '', sections }))
  const folded = document.querySelector('details summary')?.textContent
  expect(folded).toBe('learning rate, gradient norm, throughput, weights by gate')
  const charts = [...document.querySelectorAll('svg.wide')]
  expect(charts).toHaveLength(5)
  expect(document.querySelectorAll('svg.narrow')).toHaveLength(5)
  expect(charts[0]?.querySelectorAll('circle:not(:has(title))')).toHaveLength(3)
  expect(charts[0]?.querySelector('circle title')?.textContent).toBe('training, training step 1: 3')
  expect(charts[0]?.textContent).toContain('bigram 1.50')
  expect(charts[3]?.textContent).toContain('characters per second')
  for (const gate of ['input', 'forget', 'new memory', 'output']) expect(charts[4]?.textContent).toContain(gate)
  expect(charts[4]?.querySelectorAll('rect').length).toBeGreaterThan(8 * 20)
  expect(document.body.textContent).toContain('not finite: 1')
  expect(document.body.innerHTML).not.toContain('NaN')
})

it('trainingSections scales to the later losses, and names the values above the chart', () => {
  const reports = Array.from({ length: 100 }, (_, k) => report(k + 1, { loss: k === 0 ? 6.9 : 1 + 0.1 * Math.sin(k) }))
  const [loss] = trainingSections({ ...curves, reports, rules: [] })
  expect(loss?.html).toContain('The loss of step 1, 6.90, is above the chart.')
  expect(parseHTML(loss.html).document.querySelector('svg')?.textContent).not.toContain('6.5')
})

it('trainingSections keeps the whole axis where no loss is much higher than the others', () => {
  const reports = Array.from({ length: 100 }, (_, k) => report(k + 1, { loss: 1 + 0.3 / (k + 1) }))
  expect(trainingSections({ ...curves, reports, rules: [] })[0]?.html).not.toContain('above the chart')
})

it('trainingSections draws the mean of the steps around each step, which does not lag', () => {
  const reports = Array.from({ length: 101 }, (_, k) => report(k + 1, { loss: k }))
  const [loss] = trainingSections({ ...curves, reports, rules: [], metric: undefined })
  const [thin, thick] = [...parseHTML(loss.html).document.querySelectorAll('svg.wide [aria-label=line] path')].map(
    (path) => path.getAttribute('d')!.match(/[-\d.]+,[-\d.]+/g)!,
  )
  // A straight line's mean is the line itself, except at its ends.
  expect(thick[50]).toBe(thin[50])
})

it('trainingSections names the highest loss above the chart, without those that are not finite', () => {
  const loss = (step: number) => (step === 1 ? 8 : step === 2 ? 7 : step === 60 ? Number.POSITIVE_INFINITY : 1)
  const reports = Array.from({ length: 100 }, (_, k) => report(k + 1, { loss: loss(k + 1) }))
  const [section] = trainingSections({ ...curves, reports, rules: [] })
  expect(section?.html).toContain('The losses of 2 steps up to step 2 are above the chart, at most 8.00.')
})

it('trainingSections scales the loss, and leaves the weights out if there are none', () => {
  const reports = [report(1, { loss: 2 }), report(2, { loss: 1 })]
  const sections = trainingSections({ ...curves, reports, lossScale: 0.5, gates: undefined })
  expect(sections).toHaveLength(2)
  expect(sections[1].html).not.toContain('weights by gate')
  const title = parseHTML(sections[0].html).document.querySelector('circle title')?.textContent
  expect(title).toMatch(/training step 1: 1$/)
})

it('trainingSections of no steps draws empty charts', () => {
  const sections = trainingSections({ ...curves, reports: [], gates: [] })
  expect(sections).toHaveLength(2)
  for (const { html } of sections) expect(html).not.toMatch(/NaN|Infinity|undefined/)
})

it('trainingSections refuses reports without their numbers', () => {
  const code = coded('ERR_INVALID_ARGUMENT')
  for (const changed of [{ loss: '1' }, { step: undefined }, { skipped: 0 }]) {
    const reports = [report(1, changed as never)]
    expect(() => trainingSections({ ...curves, reports })).toThrow(code)
  }
  expect(() => trainingSections({ ...curves, lossLabel: undefined } as never)).toThrow(code)
})
