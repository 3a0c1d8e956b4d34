import type { Precision } from '../src/index.js'
import type { ProbeGroup } from './probe.js'
import { algorithms, dynamic, fallbacks } from './probes/algorithms.js'
import { busyThread } from './probes/busy_thread.js'
import { capture } from './probes/capture.js'
import { comparison } from './probes/comparison.js'
import { conformance, goldenSums } from './probes/conformance.js'
import { gradients, limits, reserveTwice } from './probes/gradients.js'
import { hostPointer } from './probes/host_pointer.js'
import { layout } from './probes/layout.js'
import { machine } from './probes/machine.js'
import { ODD_ROWS, oddRows, padding } from './probes/padding.js'
import { parity } from './probes/parity.js'
import { determinism } from './probes/repeatability.js'
import { soak, threads } from './probes/soak.js'

/** One process of the proof. */
export interface Section {
  readonly name: string
  /** Results go to FILE.jsonl; chapters of the checklist share one. */
  readonly file: 'checklist' | 'conformance' | 'golden' | 'timing'
  readonly group: ProbeGroup
  /** The most it may take; what is slower is ended, and said to be. */
  readonly seconds: number
  readonly argument?: string
  readonly env?: Readonly<Record<string, string>>
}

const HALVES: readonly Precision[] = ['tf32', 'float16', 'bfloat16']

/** Everything that is asked of a GPU, what says most first; `python` is asked for PyTorch where it is named. */
export function sections(python: string): readonly Section[] {
  const checklist = (name: string, group: ProbeGroup, seconds: number, rest: Partial<Section> = {}): Section => ({
    ...{ name, file: 'checklist', group, seconds },
    ...rest,
  })
  return [
    checklist('machine', machine, 60),
    { name: 'conformance', file: 'conformance', group: conformance, seconds: 150, argument: '' },
    { name: 'golden sums', file: 'golden', group: goldenSums, seconds: 60 },
    checklist('layout', layout, 30),
    checklist('padding', padding, 40),
    ...ODD_ROWS.map((kind) => checklist(kind, oddRows, 15, { argument: kind })),
    checklist('gradients', gradients, 20),
    checklist('reserve twice', reserveTwice, 15),
    checklist('limits', limits, 30),
    checklist('capture', capture, 40),
    checklist('busy thread', busyThread, 30),
    checklist('parity', parity, 60, { argument: python }),
    checklist('host pointer', hostPointer, 20),
    checklist('algorithms', algorithms, 60),
    checklist('fallbacks', fallbacks, 40),
    checklist('determinism', determinism, 30),
    checklist('determinism, fixed cuBLAS workspace', determinism, 30, { env: { CUBLAS_WORKSPACE_CONFIG: ':4096:8' } }),
    checklist('threads', threads, 40),
    ...HALVES.map(
      (precision): Section => ({
        ...{ name: `conformance ${precision}`, file: 'conformance', group: conformance },
        ...{ seconds: 80, argument: precision },
      }),
    ),
    ...['lstm', 'gru', 'rnn_tanh', 'rnn_relu'].map((mode) =>
      checklist(`dynamic ${mode}`, dynamic, 20, { argument: mode }),
    ),
    checklist('soak', soak, 60),
    { name: 'timing', file: 'timing', group: comparison, seconds: 3600, argument: python },
  ]
}
