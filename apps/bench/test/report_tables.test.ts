import { describe, expect, it } from 'vitest'
import { reportTables } from '../src/report_tables.js'
import { sampleReport } from './sample_report.js'

const tables = reportTables(sampleReport)
const rowsOf = (title: string) => tables.find((table) => table.title.startsWith(title))?.rows

describe('reportTables', () => {
  it('has a column for everybody who ran, then ratio, speed and share of the peak', () => {
    const [inference] = tables
    expect(inference?.headers).toEqual(['cell', 'cpu', 'onnxruntime', 'pytorch', 'ratio', 'GFLOP/s', 'of peak product'])
    // 3e8 operations in 1.5 ms are 200 GFLOP/s.
    expect(inference?.rows[0]).toEqual([
      'LSTM 1 × 70 × 512',
      '1.50 (1.35–1.65)',
      '2.00 (1.80–2.20)',
      'differs by 2e-2',
      '0.75',
      '200',
      '40 %',
    ])
  })

  it('lists omitted cells and ends with the geometric mean', () => {
    const rows = rowsOf('Inference')
    expect(rows?.[1]?.slice(0, 5)).toEqual([
      'GRU 1 × 70 × 512',
      '3.00 (2.70–3.30)',
      'skipped',
      '6.00 (5.40–6.60)',
      '0.50',
    ])
    expect(rows?.at(-1)).toEqual(['geometric mean', '', '', '', '0.61', '', ''])
  })

  it('divides the times that a section compares', () => {
    expect(rowsOf('On a busy machine')).toEqual([
      ['LSTM 1 × 70 × 512 inference', '2.00 (1.80–2.20)', '5.00 (4.50–5.50)', '2.50'],
    ])
    expect(rowsOf('Smaller weights')).toEqual([
      ['LSTM 1 × 70 × 1024', '8.00 (7.20–8.80)', '4.00 (3.60–4.40)', 'failed', '0.50', '', '1.0e-3', ''],
    ])
  })

  it('shows the bound of a cell beside our time and that of the best baseline', () => {
    expect(rowsOf('Rooflines')).toEqual([
      ['LSTM 1 × 70 × 512 inference', '300', '298', '1.20', 'reading', '1.50', '80 %', 'onnxruntime', '2.00', '60 %'],
    ])
    expect(rowsOf('Rates')).toEqual([
      ['multiply-adds in registers, GFLOP/s', '250', '500'],
      ['reading 64 KiB, GB/s', '100', '200'],
      ['reading 4 MiB, GB/s', '80.0', '150'],
      ['barrier of all threads, ns', '', '100'],
    ])
  })

  it('leaves out sections that were not run', () => {
    expect(rowsOf('One step at a time')).toBeUndefined()
  })

  it('shows memory beyond the loaded library, and the largest difference of each implementation', () => {
    expect(rowsOf('Memory')).toEqual([
      ['cpu', '50 MiB', '30 MiB', '45 MiB', '80 MiB'],
      ['onnxruntime', '–', '–', '–', '–'],
    ])
    expect(rowsOf('Agreement')).toEqual([
      ['onnxruntime', '3.0e-7', ''],
      ['pytorch', '2.0e-2', '6.0e-7'],
    ])
  })
})
