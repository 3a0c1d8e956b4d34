import { expect, it } from 'vitest'
import { spacePage } from '../src/space_page.js'
import { sampleReport } from './sample_report.js'

it('spacePage has a row for each kind of network and instruction set, and the networks of each report', () => {
  const page = spacePage([sampleReport, { ...sampleReport, instructionSet: undefined, comparisons: [] }])
  expect(page).toContain('- avx2: A <fast> CPU')
  expect(page).toContain('- widest: A <fast> CPU')
  expect(page).toContain('| inference, 1 thread | avx2 | 1 | 2.00 | 1 | 1 | 2.00 |')
  expect(page).not.toContain('| widest |')
  expect(page).toContain('## The worst ten networks, avx2')
  expect(page).toContain('### LSTM, inference, 2 threads, avx2: H by B\n\n| H | 1 |\n| --- | --- |\n| 512 | 0.50 |')
})
