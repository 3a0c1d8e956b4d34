import { describe, expect, it } from 'vitest'
import { leftOut } from '../src/left_out.js'
import { compared, sampleReport, series } from './sample_report.js'

describe('leftOut', () => {
  it('names everybody without a time, and why', () => {
    expect(leftOut(sampleReport)).toEqual([
      'pytorch differs from the first implementation, by more than 1e-4 (1 cell)',
      'onnxruntime skipped: a run would take more than 4 s (1 cell)',
      'cpu, int8 failed: out of <memory> (1 cell)',
    ])
  })

  it('counts cells of the same reason', () => {
    const slow = (seconds: string) =>
      compared('table', {}, [
        series('tfjs-cpu'),
        { status: 'skipped', reason: `would take about ${seconds} s a run, more than 4 s` },
      ])
    expect(leftOut({ comparisons: [slow('5.0'), slow('44.1')] })).toEqual([
      'tfjs-cpu skipped: a run would take more than 4 s (2 cells)',
    ])
  })
})
