import { describe, expect, it } from 'vitest'
import { cellsPage } from '../src/cells_page.js'
import { sampleReport } from './sample_report.js'

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
