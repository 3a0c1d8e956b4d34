import { describe, expect, it } from 'vitest'
import type { ComparisonResult } from '../src/bench_report.js'
import { groupedBy, type SpaceReport, spaceRatios, spaceSummary, worstNetworks } from '../src/space_report.js'
import { compared, measured, sampleReport, series } from './sample_report.js'

const network = (id: string, ours: number, other: number, changes: Partial<ComparisonResult['workload']> = {}) => ({
  ...compared('space', changes, [series('cpu'), measured(ours)], [series('onnxruntime'), measured(other)]),
  id,
})

const report: SpaceReport = {
  ...sampleReport,
  seed: 7,
  comparisons: [
    network('space/grid/a', 1, 2),
    network('space/grid/b', 2, 1, { inputSize: 100, numLayers: 2, bidirectional: true }),
    compared('space', {}, [series('cpu'), measured(3)]),
  ],
}

describe('spaceRatios', () => {
  it('leaves out networks that no other implementation has run', () => {
    expect(spaceRatios(report).map(({ ratio }) => ratio)).toEqual([0.5, 2])
  })
})

describe('groupedBy', () => {
  it('keeps the order of names and values', () => {
    expect([...groupedBy([3, 1, 2], (value) => (value % 2 ? 'odd' : 'even'))]).toEqual([
      ['odd', [3, 1]],
      ['even', [2]],
    ])
  })
})

describe('spaceSummary', () => {
  it('has means and counts of each pass and number of threads', () => {
    expect(spaceSummary(report).rows).toEqual([['inference, 2 threads', '2', '1.00', '1', '1', '2.00']])
  })
})

describe('worstNetworks', () => {
  it('names networks by all that differs from one layer of equal inputs, the slowest first', () => {
    expect(worstNetworks(report).rows).toEqual([
      [
        'LSTM 1 × 70 × 512, inputs 100, 2 layers, both directions, inference, 2 threads',
        '2.000',
        '1.000 onnxruntime',
        '2.00',
      ],
      ['LSTM 1 × 70 × 512, inference, 2 threads', '1.000', '2.000 onnxruntime', '0.50'],
    ])
  })

  it('has ten', () => {
    const comparisons = Array.from({ length: 12 }, (_, k) => network(`space/grid/${k}`, k + 1, 1))
    expect(worstNetworks({ ...report, comparisons }).rows).toHaveLength(10)
  })
})
