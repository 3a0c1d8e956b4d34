import type { Precision } from '@cudnn-rnn/cudnn'
import type { CheckGroup } from './check.js'
import { algorithms, dynamic, fallbacks } from './checks/algorithms.js'
import { busyThread } from './checks/busy_thread.js'
import { capture } from './checks/capture.js'
import { comparison } from './checks/comparison.js'
import { conformance, goldenSums } from './checks/conformance.js'
import { deviceGroup } from './checks/device_group.js'
import { gradients, limits, reserveTwice } from './checks/gradients.js'
import { hostPointer } from './checks/host_pointer.js'
import { layout } from './checks/layout.js'
import { machine } from './checks/machine.js'
import { ODD_ROWS, oddRows, padding } from './checks/padding.js'
import { parity } from './checks/parity.js'
import { persistent } from './checks/persistent.js'
import { determinism } from './checks/repeatability.js'
import { persistentPair, soak, threads } from './checks/soak.js'

/** One process of the validation. */
export interface Section {
  readonly name: string
  /** Results go to FILE.jsonl; sections of the checklist share one. */
  readonly file: 'checklist' | 'conformance' | 'golden' | 'timing'
  readonly group: CheckGroup
  /** Time limit. A slower section is ended and marked in the report. */
  readonly seconds: number
  readonly argument?: string
  /** It measures times or memory, or may disturb others: no section runs beside it. */
  readonly isAlone?: boolean
  readonly env?: Readonly<Record<string, string>>
}

const ALONE = { isAlone: true } as const
const HALVES: readonly Precision[] = ['tf32', 'float16', 'bfloat16']

/** All sections, the most informative first. `python`, if not empty, runs the PyTorch baseline. */
export function sections(python: string): readonly Section[] {
  const checklist = (name: string, group: CheckGroup, seconds: number, rest: Partial<Section> = {}): Section => ({
    ...{ name, file: 'checklist', group, seconds },
    ...rest,
  })
  return [
    checklist('machine', machine, 60, ALONE),
    { name: 'conformance', file: 'conformance', group: conformance, seconds: 100, argument: '' },
    { name: 'golden sums', file: 'golden', group: goldenSums, seconds: 60 },
    checklist('layout', layout, 30),
    checklist('padding', padding, 40),
    ...ODD_ROWS.map((kind) => checklist(kind, oddRows, 15, { argument: kind })),
    checklist('gradients', gradients, 20),
    checklist('reserve twice', reserveTwice, 15),
    checklist('limits', limits, 30, ALONE),
    checklist('capture', capture, 40),
    checklist('busy thread', busyThread, 30, ALONE),
    checklist('parity', parity, 60, { argument: python }),
    checklist('host pointer', hostPointer, 20, ALONE),
    checklist('algorithms', algorithms, 90, ALONE),
    checklist('fallbacks', fallbacks, 60),
    checklist('determinism', determinism, 30),
    checklist('determinism with a fixed cuBLAS workspace', determinism, 30, {
      env: { CUBLAS_WORKSPACE_CONFIG: ':4096:8' },
    }),
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
    {
      ...{ name: 'conformance of measured algorithms', file: 'conformance', group: conformance },
      ...{ seconds: 60, argument: 'measured' },
    },
    checklist('soak', soak, 40, ALONE),
    checklist('several GPUs', deviceGroup, 60),
    checklist('own kernels', persistent, 150, ALONE),
    checklist('two persistent executors', persistentPair, 20, ALONE),
    { name: 'timing', file: 'timing', group: comparison, seconds: 3600, argument: python, ...ALONE },
  ]
}
