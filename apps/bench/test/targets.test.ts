import { describe, expect, it } from 'vitest'
import type { ComparisonResult } from '../src/bench_report.js'
import { judgeTargets } from '../src/targets.js'
import { compared, measured, series } from './sample_report.js'

const isBaseline = (name: string) => name !== 'cpu' && name !== 'reference'
const verdictsOf = (...comparisons: ComparisonResult[]) => judgeTargets(comparisons, 'cpu', isBaseline, [])
const byText = (comparisons: ComparisonResult[], start: string) =>
  verdictsOf(...comparisons).find(({ text }) => text.startsWith(start))

describe('judgeTargets', () => {
  it('names all numbers, open where nothing was measured', () => {
    const verdicts = verdictsOf()
    expect(verdicts.map(({ number }) => number)).toEqual([1, 2, 3, 8, 8, 8, 8, 4, 4, 5, 9, 6, 7])
    expect(new Set(verdicts.map(({ verdict }) => verdict))).toEqual(new Set(['open']))
  })

  it('takes the fastest baseline, not another executor of ours', () => {
    const cell = compared(
      'table',
      {},
      [series('cpu'), measured(1)],
      [series('reference'), measured(0.1)],
      [series('onnxruntime'), measured(2)],
      [series('keras'), measured(8)],
    )
    expect(byText([cell], 'Inference')).toMatchObject({ verdict: 'met', measured: '0.50', misses: [] })
  })

  it('misses a target in one cell and names the cell', () => {
    const cells = [0.4, 1.1].map((ms) => ({
      ...compared('table', {}, [series('cpu'), measured(ms)], [series('onnxruntime'), measured(1)]),
      roofline: { operations: 3e8, bytes: 3e8, ms: 0.6, boundBy: 'reading' as const },
    }))
    expect(byText(cells, 'Inference')).toMatchObject({
      verdict: 'missed',
      // The bound of 0.6 ms is 0.6 of the baseline's 1 ms.
      misses: ['LSTM inference 1 × 70 × 512: 1.10 (roofline of this machine: 0.60)'],
    })
  })

  it('misses a target by the geometric mean alone', () => {
    const cells = [0.9, 0.9].map((ms) =>
      compared('table', {}, [series('cpu'), measured(ms)], [series('onnxruntime'), measured(1)]),
    )
    expect(byText(cells, 'Inference')).toMatchObject({ verdict: 'missed', misses: [] })
  })

  it('holds training against PyTorch, and leaves a target open while a cell is missing', () => {
    const training = (ms: number) =>
      compared(
        'table',
        {},
        [series('cpu', { pass: 'training' }), measured(ms)],
        [series('pytorch', { pass: 'training' }), measured(10)],
      )
    const missing = compared('table', {}, [
      series('cpu', { pass: 'training' }),
      { status: 'skipped', reason: 'would take too long' },
    ])
    expect(byText([training(4), training(4)], 'Training')).toMatchObject({ verdict: 'met' })
    expect(byText([training(4), missing], 'Training')).toMatchObject({ verdict: 'open' })
    expect(byText([training(9), missing], 'Training')).toMatchObject({ verdict: 'missed' })
  })

  it('holds single steps against ONNX Runtime, with a number for each size', () => {
    const step = (numUnits: number, ms: number) =>
      compared(
        'step',
        { numUnits },
        [series('cpu', { pass: 'streaming', threads: 1 }), measured(ms)],
        [series('onnxruntime', { pass: 'streaming', threads: 1 }), measured(1)],
      )
    const cells = [step(64, 0.05), step(512, 0.6)]
    expect(byText(cells, 'stepSync, LSTM and GRU of H 64')).toMatchObject({ verdict: 'met', measured: '0.05' })
    expect(byText(cells, 'stepSync, LSTM and GRU of H 512')).toMatchObject({ verdict: 'missed' })
  })

  it('compares the memory that training adds', () => {
    const of = (implementation: string, resident: number | null, peak: number | null) =>
      ({ implementation, pass: 'training', resident, peak }) as const
    const verdict = (...memory: Parameters<typeof judgeTargets>[3]) =>
      judgeTargets([], 'cpu', isBaseline, memory).find(({ number }) => number === 9)
    expect(verdict(of('cpu', 50, 110), of('pytorch', 200, 300))).toMatchObject({ verdict: 'met', measured: '0.60' })
    expect(verdict(of('cpu', 50, 150), of('pytorch', 200, 300))).toMatchObject({ verdict: 'missed' })
    expect(verdict(of('cpu', null, null), of('pytorch', 200, 300))).toMatchObject({ verdict: 'open' })
  })

  it("holds the seed's own case against TensorFlow's fused LSTM", () => {
    const cell = (numUnits: number) =>
      compared('table', { numUnits }, [series('cpu'), measured(1)], [series('tensorflow'), measured(5)])
    expect(byText([cell(512), cell(1024)], 'B 1, T 70, H 512')).toMatchObject({ verdict: 'met', measured: '0.20' })
    expect(byText([cell(1024)], 'B 1, T 70, H 512')).toMatchObject({ verdict: 'open' })
  })

  it('wants two threads to be faster than one', () => {
    const cell = (two: number) =>
      compared(
        'threads',
        {},
        [series('cpu', { threads: 1 }), measured(10)],
        [series('cpu', { threads: 2 }), measured(two)],
      )
    expect(byText([cell(5)], 'Two layers')).toMatchObject({ verdict: 'met', measured: '2.00' })
    expect(byText([cell(8)], 'Two layers')).toMatchObject({ verdict: 'missed' })
  })

  it('divides smaller weights, steps and busy machines by the plain series beside them', () => {
    const cells = [
      compared(
        'weights',
        {},
        [series('cpu'), measured(10)],
        [series('cpu', { weights: 'bfloat16' }), measured(5)],
        [series('cpu', { weights: 'int8' }), measured(5)],
      ),
      compared('streaming', {}, [series('cpu'), measured(10)], [series('cpu', { pass: 'streaming' }), measured(12)]),
      compared('busy', {}, [series('cpu'), measured(10)], [series('cpu', { busy: true }), measured(30)]),
    ]
    expect(byText(cells, 'bfloat16')).toMatchObject({ verdict: 'met', measured: '0.50' })
    expect(byText(cells, 'int8')).toMatchObject({ verdict: 'missed', measured: '0.50' })
    expect(byText(cells, 'Streaming')).toMatchObject({ verdict: 'missed', measured: '1.20' })
    expect(byText(cells, 'Another process')).toMatchObject({ verdict: 'met', measured: '3.00' })
  })
})
