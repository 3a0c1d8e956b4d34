import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { benchPage } from '../src/bench_page.js'
import { sampleReport } from './sample_report.js'

const page = benchPage(sampleReport)
const { document } = parseHTML(page)

describe('benchPage', () => {
  it('is self-contained: no script, nothing fetched', () => {
    expect(page).not.toMatch(/<script|<link|\bsrc=|\bhref=|url\(|@import/)
  })

  it('shows text as text', () => {
    expect(document.querySelector('p')?.textContent).toContain('A <fast> CPU')
    expect([...document.querySelectorAll('li')].at(-1)?.textContent).toContain('out of <memory>')
  })

  it('draws a dot for every time of the table, and a ratio for every cell with a baseline', () => {
    const [times, ratios] = document.querySelectorAll('svg')
    expect(times?.querySelectorAll('circle')).toHaveLength(4)
    expect(ratios?.textContent).toContain('0.75 ×')
    expect(ratios?.textContent).toContain('0.50 ×')
  })

  it('gives a verdict for every target, with the cells that miss it', () => {
    const verdicts = [...document.querySelectorAll('td.met, td.missed, td.open')]
    expect(verdicts.map(({ textContent }) => textContent)).toEqual(['missed', 'met'])
    expect(verdicts[0]?.parentElement?.textContent).toContain('gru: 1.20')
  })

  it('reports which implementations were absent, and why', () => {
    const implementations = [...document.querySelectorAll('table')].at(-1)
    expect(implementations?.textContent).toContain('Kerasabsentno module')
  })
})
