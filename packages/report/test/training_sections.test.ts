import type { StepReport } from '@cudnn-rnn/train'
import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { htmlPage, trainingSections } from '../src/index.js'

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
  expect(sections.map(({ heading }) => heading)).toEqual([
    'Loss',
    'Learning rate',
    'Gradient norm',
    'Throughput',
    'Weights by gate',
  ])
  const { document } = parseHTML(htmlPage({ title: 'run', resultHtml: '', sections }))
  const charts = [...document.querySelectorAll('svg')]
  expect(charts).toHaveLength(5)
  expect(charts[0]?.querySelectorAll('circle')).toHaveLength(3)
  expect(charts[0]?.textContent).toContain('bigram 1.50')
  expect(charts[3]?.textContent).toContain('characters per second')
  for (const gate of ['input', 'forget', 'new memory', 'output']) expect(charts[4]?.textContent).toContain(gate)
  expect(charts[4]?.querySelectorAll('rect').length).toBeGreaterThan(8 * 20)
  expect(document.body.textContent).toContain('not finite: 1')
  expect(document.body.innerHTML).not.toContain('NaN')
})
