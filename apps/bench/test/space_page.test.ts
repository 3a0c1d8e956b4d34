import { expect, it } from 'vitest'
import { spacePage } from '../src/space_page.js'
import { compared, measured, sampleReport, series } from './sample_report.js'

it('spacePage has the summary, a map of the grid for each number of threads, and the worst networks', () => {
  const cell = (id: string, threads: number, ours: number) => ({
    ...compared(
      'space',
      {},
      [series('cpu', { threads }), measured(ours)],
      [series('pytorch', { threads }), measured(1)],
    ),
    id,
  })
  const comparisons = [cell('space/grid/a', 1, 0.8), cell('space/grid/b', 2, 1.2), cell('space/drawn-1/c', 2, 1.5)]
  const page = spacePage({ ...sampleReport, seed: 7, comparisons })
  expect(page).toContain('drawn by seed 7')
  expect(page).toContain('A &lt;fast&gt; CPU')
  expect(page).toContain('LSTM, inference, 1 thread: H by B')
  expect(page.match(/<svg/g)).toHaveLength(2)
  expect(page).toContain('>0.80</text>')
  expect(page).not.toContain('>1.50</text>')
  expect(page).toContain('<td>1.50</td>')
})
