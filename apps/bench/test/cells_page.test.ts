import { describe, expect, it } from 'vitest'
import { cellsPage } from '../src/cells_page.js'
import { compared, measured, sampleReport, series } from './sample_report.js'

const report = (instructionSet: 'avx2' | 'avx512') => ({
  ...sampleReport,
  settings: { ...sampleReport.settings, instructionSet },
})

describe('cellsPage', () => {
  const page = cellsPage([report('avx2'), report('avx512')])

  it('puts the reports side by side, with the bound of each cell', () => {
    const cell = '1.50 / 2.00 onnxruntime | 0.75 | 1.20 reading | 80 %'
    expect(page).toContain(`| LSTM 1 × 70 × 512 | ${cell} | ${cell} |`)
    expect(page).toContain('| geometric mean |  | 0.61 |  |  |  | 0.61 |  |  |')
  })

  it('names goals with their misses, rates and memory of each report', () => {
    expect(page).toContain('| Inference ≤ 1 | **missed**: 0.50 to 1.20<br>gru: 1.20 |')
    expect(page).toContain('## Rates of this machine, avx2')
    expect(page).toContain('## Memory, avx512')
  })

  it('leaves out passes that no report has', () => {
    expect(page).not.toContain('## Single steps')
  })
})

describe('cellsPage of reports that differ', () => {
  const { comparisons } = sampleReport

  it('leaves the columns of a cell empty that a report does not have', () => {
    const page = cellsPage([sampleReport, { ...sampleReport, comparisons: comparisons.slice(1, 2) }])
    expect(page).toContain('| LSTM 1 × 70 × 512 | 1.50 / 2.00 onnxruntime | 0.75 | 1.20 reading | 80 % |  |  |  |  |')
    // √(0.75 · 0.5) in the first report, 0.5 in the second.
    expect(page).toContain('| geometric mean |  | 0.61 |  |  |  | 0.50 |  |  |')
  })

  it('shows a cell that no baseline has run, without a ratio', () => {
    const cell = compared('table', {}, [series('cpu'), measured(4)])
    const page = cellsPage([{ ...sampleReport, comparisons: [cell] }])
    expect(page).toContain('| LSTM 1 × 70 × 512 | 4.00 / – |  |  |  |')
    expect(page).toContain('| geometric mean |  |  |  |  |')
  })

  it('leaves out goals that no report measured, and keeps vertical bars in their cells', () => {
    const target = { number: 1, verdict: 'open', misses: [] } as const
    const targets = [
      { ...target, text: 'a | b', measured: '0.50' },
      { ...target, text: 'never', measured: 'not measured' },
    ]
    const page = cellsPage([{ ...sampleReport, targets }])
    expect(page).toContain('| a \\| b | **open**: 0.50 |')
    expect(page).not.toContain('never')
  })

  it('names the report without an instruction set, and has no rates where they were not measured', () => {
    const page = cellsPage([{ ...sampleReport, rates: 'g++ is missing' }])
    expect(page).toContain('- widest: A <fast> CPU')
    expect(page).not.toContain('## Rates of this machine')
  })
})
