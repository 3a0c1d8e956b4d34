import { table } from './report_table.js'
import type { FiledOutcome } from './result_files.js'
import type { PassTimes, TimingCase } from './timing.js'

/** A cell that both programs measured. */
export interface ComparedCell extends TimingCase {
  readonly ours: PassTimes
  readonly theirs: PassTimes
  readonly forwardRatio: number
  readonly trainingRatio: number
}

export function comparedCells(outcomes: readonly FiledOutcome[]): readonly ComparedCell[] {
  return outcomes.flatMap((outcome) => {
    const measured = outcome.measured as Partial<ComparedCell> | null
    if (outcome.id !== '13.3' || typeof measured?.forwardRatio !== 'number') return []
    const { cellMode, layers, units, batch, precision } = outcome as unknown as TimingCase
    return [{ cellMode, layers, units, batch, precision, ...measured } as ComparedCell]
  })
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)
}

/** One table per cell, depth and precision: milliseconds ours / PyTorch's and their ratio; nothing if none are there. */
export function timeTables(outcomes: readonly FiledOutcome[]): readonly string[] {
  const timed = outcomes.filter(({ id, units }) => id === '13.3' && units !== undefined) as unknown as (TimingCase & {
    readonly measured: Partial<ComparedCell>
  })[]
  if (timed.length === 0) return []
  const tables = [...new Set(timed.map(titleOf))].flatMap((title) => {
    const cells = timed.filter((cell) => titleOf(cell) === title).sort((a, b) => a.units - b.units || a.batch - b.batch)
    const head = ['H', 'B', 'forward (ms)', 'PyTorch', 'ratio', 'training (ms)', 'PyTorch', 'ratio']
    return [`### ${title}`, table(head, cells.map(rowOf))]
  })
  return [
    '## Times',
    "T = 70, I = H; ours and PyTorch in turns, cell by cell; a ratio below 1 is ours faster. PyTorch's time is that of the faster of calls and a CUDA graph.",
    ...overCalls(timed.map(({ measured }) => measured)),
    ...tables,
  ]
}

/** The geometric means of our times over the times of PyTorch's calls, as programs without graphs make them. */
function overCalls(measured: readonly Partial<ComparedCell>[]): readonly string[] {
  const ratios = (pass: 'forward' | 'training') =>
    measured.flatMap(({ ours, theirs }) => {
      const calls = (theirs as TorchTimes | undefined)?.[pass]?.calls
      return ours === undefined || calls === undefined ? [] : [ours[`${pass}Ms`] / calls]
    })
  const [forward, training] = [ratios('forward'), ratios('training')]
  if (forward.length === 0 || training.length === 0) return []
  const [one, other] = [forward, training].map((values) => geometricMean(values).toFixed(2))
  return [`Over PyTorch's calls alone the geometric mean is ${one} forward and ${other} in training.`]
}

/** Torch times of one network, as torch_baseline.py gives them. */
type TorchTimes = Readonly<Record<'forward' | 'training', { readonly calls: number }>>

function titleOf({ cellMode, layers, precision }: TimingCase): string {
  return `${cellMode.toUpperCase()}, ${layers} layer${layers > 1 ? 's' : ''}, ${precision}`
}

function rowOf(cell: TimingCase & { readonly measured: Partial<ComparedCell> }): readonly string[] {
  const { ours, theirs, forwardRatio, trainingRatio } = cell.measured
  const number = (value: number | undefined) => (typeof value === 'number' ? value.toPrecision(3) : '')
  return [
    String(cell.units),
    String(cell.batch),
    ...[number(ours?.forwardMs), number(theirs?.forwardMs), number(forwardRatio)],
    ...[number(ours?.trainingMs), number(theirs?.trainingMs), number(trainingRatio)],
  ]
}
