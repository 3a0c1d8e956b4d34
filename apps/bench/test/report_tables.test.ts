import { describe, expect, it } from 'vitest'
import { networkRatios } from '../src/bench_report.js'
import {
  conditionsOf,
  gridRatios,
  groupedBy,
  reducedTable,
  stepTable,
  summaryTable,
  worstTable,
} from '../src/report_tables.js'
import { compared, measured, sampleReport, series } from './sample_report.js'

const STEP = ['GRU 1 × 70 × 512, single steps, 1 thread', '3.000', '12.000 onnxruntime', '0.25', '–']

const BFLOAT16 = { precision: 'bfloat16' } as const

describe('networkRatios', () => {
  it('leaves out networks that no other implementation has run', () => {
    expect(networkRatios(sampleReport).map(({ ratio }) => ratio)).toEqual([0.5, 2, 0.25])
  })

  it('compares with the fastest other implementation', () => {
    const network = compared(
      'grid/a',
      {},
      [series('cpu'), measured(1)],
      [series('x'), measured(4)],
      [series('y'), measured(2)],
    )
    expect(networkRatios({ ...sampleReport, comparisons: [network] })).toMatchObject([{ best: { name: 'y', ms: 2 } }])
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

describe('summaryTable', () => {
  it('has means and counts of each pass and number of threads', () => {
    expect(summaryTable(sampleReport).rows).toEqual([
      ['inference, 2 threads', '1', '0.50', '0', '0', '0.50'],
      ['inference, 1 thread', '1', '2.00', '1', '1', '2.00'],
      ['single steps, 1 thread', '1', '0.25', '0', '0', '0.25'],
    ])
  })
})

describe('reducedTable', () => {
  it('compares with our float32 and with others of the precision, which the other tables leave out', () => {
    const network = (ms: number, ...others: Parameters<typeof compared>[2][]) =>
      compared(
        'reduced-1/bfloat16',
        {},
        [series('cpu'), measured(4)],
        [series('cpu', BFLOAT16), measured(ms)],
        ...others,
      )
    const comparisons = [network(1, [series('x', BFLOAT16), measured(2)]), network(4)]
    const report = { ...sampleReport, comparisons }
    expect(reducedTable(report).rows).toEqual([['bfloat16, inference, 2 threads', '2', '0.50', '1.00', '0.50', '0.50']])
    expect(summaryTable(report).rows).toEqual([])
  })
})

describe('worstTable', () => {
  it('names networks by all that differs from one layer of equal inputs, the slowest first', () => {
    expect(worstTable(sampleReport).rows).toEqual([
      [
        'LSTM 2 × 70 × 512, inputs 100, 2 layers, both directions, inference, 1 thread',
        ...['2.000', '1.000 onnxruntime', '2.00', '–'],
      ],
      ['LSTM 1 × 70 × 512, inference, 2 threads', '1.000', '2.000 onnxruntime', '0.50', '0.25'],
      STEP,
    ])
  })

  it('has ten', () => {
    const comparisons = Array.from({ length: 12 }, (_, k) =>
      compared(`grid/${k}`, {}, [series('cpu'), measured(k + 1)], [series('onnxruntime'), measured(1)]),
    )
    expect(worstTable({ ...sampleReport, comparisons }).rows).toHaveLength(10)
  })
})

describe('stepTable', () => {
  it('has the single steps', () => {
    expect(stepTable(sampleReport).rows).toEqual([STEP])
  })
})

describe('gridRatios', () => {
  it('has the grid by cell, pass and number of threads', () => {
    expect([...gridRatios(sampleReport).keys()]).toEqual(['LSTM, inference, 2 threads', 'LSTM, inference, 1 thread'])
  })
})

describe('conditionsOf', () => {
  it('names the machine and the others that took part', () => {
    const text = conditionsOf(sampleReport)
    expect(text).toContain('A <fast> CPU, 2 threads, Node.js v20.19.0, 2026-11-21, load 0.1')
    expect(text).toContain('beside ONNX Runtime 1.30.0')
    expect(text).not.toContain('PyTorch')
  })
})
