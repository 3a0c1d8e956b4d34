import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { type Report, reportPage } from '../src/report_page.js'

const report: Report = {
  title: 'A character model of <Moby & Dick>',
  history: Array.from({ length: 40 }, (_, index) => ({
    step: index + 1,
    bits: 6 - index / 10,
    gradientNorm: 1,
    learningRate: 0.01,
    ...(index % 10 === 9 ? { heldOutBits: 6 - index / 12 } : {}),
  })),
  bigramBits: 3.5,
  sample: { prompt: 'The ', text: '"whale" & <b>co</b>' },
  settings: [['Seed', '1']],
}

const parse = (page: string) => parseHTML(page).document

describe('reportPage', () => {
  it('stands by itself: no script, nothing fetched', () => {
    const page = reportPage(report)
    expect(page).not.toMatch(/<script|<link|\bsrc=|\bhref=|url\(|@import/)
  })

  it('shows text as text, whatever a model writes', () => {
    const document = parse(reportPage(report))
    expect(document.querySelector('h1')?.textContent).toBe('A character model of <Moby & Dick>')
    expect(document.querySelector('blockquote')?.textContent).toBe('The "whale" & <b>co</b>')
  })

  it('draws a dot for every evaluation and labels the last one and the bigram line', () => {
    const chart = parse(reportPage(report)).querySelector('svg')
    expect(chart?.querySelectorAll('circle')).toHaveLength(4)
    expect(chart?.textContent).toContain('held-out 2.75')
    expect(chart?.textContent).toContain('bigram 3.50')
  })

  it('says on which side of the bigram model the result lies', () => {
    const result = (bigramBits: number) =>
      parse(reportPage({ ...report, bigramBits })).querySelector('.result')?.textContent
    expect(result(3.5)).toBe(
      "2.750 bits per character on text it never saw: 0.750 below the character bigram model's 3.500.",
    )
    expect(result(2.5)).toContain('0.250 above')
  })

  it('says so when nothing was evaluated or sampled yet', () => {
    const page = reportPage({ ...report, history: report.history.slice(0, 3), sample: { prompt: 'The ', text: '' } })
    expect(parse(page).querySelector('.result')?.textContent).toContain('Not evaluated yet')
    expect(parse(page).querySelector('blockquote')).toBeNull()
  })
})
