import { expect, it } from 'vitest'
import { benchPage } from '../src/bench_page.js'
import { sampleReport } from './sample_report.js'

it('benchPage has the summary, a map of the grid for each number of threads, single steps and the worst networks', () => {
  const page = benchPage(sampleReport)
  expect(page).toContain('drawn by seed 7')
  expect(page).toContain('A &lt;fast&gt; CPU')
  expect(page).toContain('LSTM, inference, 1 thread: H by B')
  expect(page.match(/<svg/g)).toHaveLength(2)
  expect(page).toContain('>0.50</text>')
  expect(page).not.toContain('>0.25</text>')
  expect(page).toContain('<td class="number">0.25</td>')
})
