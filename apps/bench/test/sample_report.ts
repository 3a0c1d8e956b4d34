import type { BenchReport } from '../src/bench_report.js'
import type { ComparisonResult, Outcome, Series } from '../src/comparison.js'
import type { Workload } from '../src/workload.js'

export const series = (implementation: string, changes: Partial<Series> = {}): Series => ({
  implementation,
  threads: 2,
  precision: 'float32',
  pass: 'inference',
  ...changes,
})

export const measured = (ms: number, difference?: number): Outcome => ({
  status: 'measured',
  spread: { median: ms, q1: ms * 0.9, q3: ms * 1.1, samples: 9 },
  difference,
})

/** A network at B 1, T 70 whose series had these outcomes. */
export function compared(
  id: string,
  changes: Partial<Workload>,
  ...results: (readonly [Series, Outcome])[]
): ComparisonResult {
  const sizes = { batch: 1, time: 70, inputSize: 512, numUnits: 512 }
  return {
    id,
    workload: { cellMode: 'lstm', numLayers: 1, bidirectional: false, ...sizes, ...changes },
    results: results.map(([series, outcome]) => ({ series, outcome })),
  }
}

/** A small report with a network of each kind and every kind of outcome. */
export const sampleReport: BenchReport = {
  date: '2026-11-21T10:00:00.000Z',
  machine: { processor: 'A <fast> CPU, 2 threads', system: 'linux', node: 'v20.19.0', memory: '24 GiB' },
  loadBefore: 0.1,
  seed: 7,
  instructionSet: 'avx2',
  implementations: [
    { name: 'cpu', title: 'cpu executor', kind: 'executor', version: '0.1.0', detail: 'AVX2', participates: true },
    { name: 'onnxruntime', title: 'ONNX Runtime', kind: 'baseline', version: '1.30.0', detail: '', participates: true },
    { name: 'pytorch', title: 'PyTorch', kind: 'baseline', version: undefined, detail: '', participates: false },
  ],
  rates: 'no compiler',
  comparisons: [
    {
      ...compared('grid/a', {}, [series('cpu'), measured(1)], [series('onnxruntime'), measured(2)]),
      roofline: { operations: 3e8, bytes: 2.98e8, ms: 0.5, boundBy: 'reading' },
    },
    compared(
      'grid/b',
      { inputSize: 100, numLayers: 2, bidirectional: true, batch: 2 },
      [series('cpu', { threads: 1 }), measured(2)],
      [series('onnxruntime', { threads: 1 }), measured(1)],
      [series('pytorch', { threads: 1 }), { status: 'failed', reason: 'out of memory' }],
    ),
    compared('drawn-1/c', {}, [series('cpu'), measured(3)], [series('onnxruntime'), { status: 'skipped', reason: '' }]),
    compared(
      'step/d',
      { cellMode: 'gru' },
      [series('cpu', { threads: 1, pass: 'streaming' }), measured(3)],
      [series('onnxruntime', { threads: 1, pass: 'streaming' }), measured(12)],
    ),
  ],
}
