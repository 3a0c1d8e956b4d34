import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkoutTable, compareCheckouts } from '../src/compare_checkouts.js'
import type { ComparisonResult, Outcome, SeriesResult } from '../src/comparison.js'

const measured = (median: number): Outcome => ({
  status: 'measured',
  spread: { median, q1: median, q3: median, samples: 1 },
  difference: 0,
})

function result(before: Outcome, after: Outcome): ComparisonResult {
  const series = (implementation: string, outcome: Outcome): SeriesResult => ({
    series: { implementation, threads: 2, precision: 'float32', pass: 'training' },
    outcome,
  })
  const sizes = { numLayers: 1, bidirectional: false, batch: 1, time: 70, inputSize: 512, numUnits: 512 }
  return {
    id: 'grid/gru/training/1x70x512',
    workload: { cellMode: 'gru', ...sizes },
    results: [series('before', before), series('after', after)],
  }
}

describe('checkoutTable', () => {
  it('has the ratio of each cell, their geometric mean and the worst', () => {
    const table = checkoutTable([result(measured(4), measured(2)), result(measured(1), measured(8))])
    expect(table).toContain('| GRU training, 1 × 70 × 512 | 4.00 | 2.00 | 0.500 |')
    expect(table).toContain('Geometric mean of the ratios 2.00, worst 8.00.')
  })

  it('names the outcome of a side that was not measured, and leaves its ratio out', () => {
    const table = checkoutTable([result(measured(4), { status: 'failed', reason: 'out of memory' })])
    expect(table).toContain('| GRU training, 1 × 70 × 512 | before: measured; after: failed | | |')
    expect(table).toContain('Geometric mean of the ratios –.')
  })
})

describe('compareCheckouts', () => {
  it('names the checkout that is not built', async () => {
    const checkout = mkdtempSync(join(tmpdir(), 'compare-checkouts-'))
    try {
      const options = { before: checkout, after: checkout, executor: 'cpu', threads: 1, rounds: 1 }
      await expect(compareCheckouts(options, () => {})).rejects.toMatchObject({
        code: 'ERR_NO_EXECUTOR',
        message: expect.stringContaining(checkout),
      })
    } finally {
      rmSync(checkout, { recursive: true })
    }
  })
})
