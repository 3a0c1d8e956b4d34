import type { FiledOutcome } from './result_files.js'
import { comparedCells, geometricMean } from './time_tables.js'

/** One number that was to be reached, and whether it was; undefined if it was not measured. */
export interface Target {
  readonly what: string
  readonly asked: string
  readonly measured: string
  readonly holds: boolean | undefined
}

/** Targets of this project on a real GPU. */
export function targets(outcomes: readonly FiledOutcome[]): readonly Target[] {
  const cells = comparedCells(outcomes)
  const ratios = (kind: 'forwardRatio' | 'trainingRatio', batch?: number) =>
    cells.filter((cell) => batch === undefined || cell.batch === batch).map((cell) => cell[kind])
  const atMost = (what: string, asked: string, values: readonly number[], limit: number, single: boolean): Target => {
    if (values.length === 0) return { what, asked, measured: '', holds: undefined }
    const value = single ? Math.max(...values) : geometricMean(values)
    const over = values.filter((one) => one > limit).length
    const measured = `${value.toFixed(2)}${single && over > 0 ? ` (${over} of ${values.length} cells above)` : ''}`
    return { what, asked, measured, holds: value <= limit }
  }
  return [
    passing('conformance, float32 and float64', outcomes, 'conformance'),
    ...['tf32', 'float16', 'bfloat16'].map((precision) =>
      passing(`conformance, ${precision}`, outcomes, `conformance ${precision}`),
    ),
    passing("sums of NVIDIA's sample", outcomes, 'golden sums'),
    atMost('forward, ours / PyTorch, slowest cell', '≤ 1.0', ratios('forwardRatio'), 1, true),
    atMost('training, ours / PyTorch, slowest cell', '≤ 1.0', ratios('trainingRatio'), 1, true),
    atMost(
      'geometric mean of all ratios',
      '≤ 0.7',
      [...ratios('forwardRatio'), ...ratios('trainingRatio')],
      0.7,
      false,
    ),
    atMost('B = 1, forward, slowest cell', '≤ 0.5', ratios('forwardRatio', 1), 0.5, true),
    atMost('B = 1, training, slowest cell', '≤ 0.5', ratios('trainingRatio', 1), 0.5, true),
    characterTarget(outcomes),
    busyTarget(outcomes),
  ]
}

function passing(what: string, outcomes: readonly FiledOutcome[], section: string): Target {
  const made = outcomes.filter((outcome) => outcome.section === section && outcome.verdict !== 'skipped')
  const failed = made.filter(({ verdict }) => verdict === 'fail').length
  const measured = `${made.length - failed} of ${made.length}`
  return { what, asked: 'all pass', measured, holds: made.length === 0 ? undefined : failed === 0 }
}

function characterTarget(outcomes: readonly FiledOutcome[]): Target {
  const ratios = outcomes
    .filter(({ id }) => id === '13.4')
    .map(({ measured }) => (measured as { readonly ratio?: number }).ratio)
    .filter((ratio) => ratio !== undefined && ratio !== null)
  return {
    what: 'whole training step of a character model, PyTorch / ours',
    asked: '≥ 2',
    measured: ratios.map((ratio) => (1 / ratio).toFixed(2)).join(', '),
    holds: ratios.length === 0 ? undefined : ratios.every((ratio) => ratio <= 0.5),
  }
}

function busyTarget(outcomes: readonly FiledOutcome[]): Target {
  const medians = outcomes
    .filter(({ id, verdict }) => id === '13.2' && verdict !== 'noted')
    .map(({ measured }) => (measured as { readonly median: number }).median)
  return {
    what: "JavaScript's thread busy per call, slowest median",
    asked: '< 50 µs',
    measured: medians.length === 0 ? '' : `${Math.max(...medians)} µs`,
    holds: medians.length === 0 ? undefined : medians.every((median) => median < 50),
  }
}
