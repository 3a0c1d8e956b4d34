import { describe, expect, it } from 'vitest'
import { consoleReport } from '../src/console_report.js'
import { sampleReport } from './sample_report.js'

describe('consoleReport', () => {
  const text = consoleReport(sampleReport)

  it('begins with the machine and its peaks', () => {
    expect(text.split('\n').slice(0, 2)).toEqual([
      'A <fast> CPU, 2 threads, 24 GiB, linux, Node.js v20.19.0, 2026-11-21T10:00:00.000Z',
      'Peaks of this machine on 2 threads: product 500 GFLOP/s (cpu executor), memory 30.0 GB/s',
    ])
  })

  it('ends with the verdicts', () => {
    expect(text).toMatch(
      / {2}1\. missed Inference ≤ 1: 0\.50 to 1\.20\n +gru: 1\.20\n {2}2\. met {4}Training ≤ 0\.8: 0\.40\n$/,
    )
  })
})
