import type { BenchReport, ComparisonResult, Outcome } from '../src/bench_report.js'
import type { Series } from '../src/comparison.js'
import type { Workload } from '../src/workload.js'

export const series = (implementation: string, changes: Partial<Series> = {}): Series => ({
  implementation,
  threads: 2,
  weights: 'float32',
  pass: 'inference',
  busy: false,
  ...changes,
})

export const measured = (ms: number, difference?: number): Outcome => ({
  status: 'measured',
  spread: { median: ms, q1: ms * 0.9, q3: ms * 1.1, samples: 9 },
  difference,
})

/** A comparison at B 1, T 70 whose series had these outcomes. */
export function compared(
  section: ComparisonResult['section'],
  changes: Partial<Workload>,
  ...results: (readonly [Series, Outcome])[]
): ComparisonResult {
  const sizes = { batch: 1, time: 70, inputSize: 512, numUnits: 512 }
  return {
    id: section,
    section,
    workload: { cellMode: 'lstm', numLayers: 1, bidirectional: false, ...sizes, ...changes },
    flops: 3e8,
    results: results.map(([series, outcome]) => ({ series, outcome })),
  }
}

/** A small report with every kind of outcome. */
export const sampleReport: BenchReport = {
  date: '2026-11-21T10:00:00.000Z',
  machine: { processor: 'A <fast> CPU, 2 threads', system: 'linux', node: 'v20.19.0', memory: '24 GiB' },
  loadBefore: 0.1,
  settings: { threads: 2, quick: false, rounds: 7, sliceMs: 100 },
  implementations: [
    { name: 'cpu', title: 'cpu executor', kind: 'executor', version: '0.1.0', detail: 'AVX-512', participates: true },
    {
      name: 'onnxruntime',
      title: 'ONNX Runtime',
      kind: 'baseline',
      version: '1.30.0',
      detail: 'CPU',
      participates: true,
    },
    { name: 'pytorch', title: 'PyTorch', kind: 'baseline', version: '2.13.0', detail: 'eager', participates: true },
    { name: 'keras', title: 'Keras', kind: 'baseline', version: undefined, detail: 'no module', participates: false },
  ],
  peak: { gflops: 500, productBy: 'cpu executor', bandwidth: 30 },
  rates: {
    threads: 2,
    gflops: [250, 500],
    reads: [
      { bytes: 2 ** 16, gigabytes: [100, 200] },
      { bytes: 2 ** 22, gigabytes: [80, 150] },
    ],
    barrierNs: 100,
  },
  comparisons: [
    {
      ...compared(
        'table',
        {},
        [series('cpu'), measured(1.5)],
        [series('onnxruntime'), measured(2, 3e-7)],
        [series('pytorch'), { status: 'differs', difference: 0.02 }],
      ),
      roofline: { operations: 3e8, bytes: 2.98e8, ms: 1.2, boundBy: 'reading' },
    },
    compared(
      'table',
      { cellMode: 'gru' },
      [series('cpu'), measured(3)],
      [series('onnxruntime'), { status: 'skipped', reason: 'would take about 9.0 s a run, more than 4 s' }],
      [series('pytorch'), measured(6, 5e-7)],
    ),
    compared(
      'table',
      {},
      [series('cpu', { pass: 'training' }), measured(4)],
      [series('pytorch', { pass: 'training' }), measured(10, 6e-7)],
    ),
    compared(
      'weights',
      { numUnits: 1024 },
      [series('cpu'), measured(8)],
      [series('cpu', { weights: 'bfloat16' }), measured(4, 1e-3)],
      [series('cpu', { weights: 'int8' }), { status: 'failed', reason: 'out of <memory>' }],
    ),
    compared('busy', {}, [series('cpu'), measured(2)], [series('cpu', { busy: true }), measured(5)]),
  ],
  memory: {
    workload: 'LSTM, 16 × 70 × 512',
    results: [
      { implementation: 'cpu', pass: 'inference', resident: 50 * 2 ** 20, peak: 80 * 2 ** 20 },
      { implementation: 'cpu', pass: 'training', resident: 50 * 2 ** 20, peak: 95 * 2 ** 20 },
      { implementation: 'onnxruntime', pass: 'inference', resident: null, peak: null },
    ],
  },
  targets: [
    { number: 1, text: 'Inference ≤ 1', verdict: 'missed', measured: '0.50 to 1.20', misses: ['gru: 1.20'] },
    { number: 2, text: 'Training ≤ 0.8', verdict: 'met', measured: '0.40', misses: [] },
  ],
}
