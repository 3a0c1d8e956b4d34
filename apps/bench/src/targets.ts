import { STEP_UNITS } from './bench_cases.js'
import {
  type ComparisonResult,
  type MemoryResult,
  medianOf,
  ofSection,
  ratioToBestBaseline,
  type TargetVerdict,
} from './bench_report.js'
import type { Series } from './comparison.js'
import { geometricMean } from './statistics.js'
import { CELL_TITLES, sizesOf } from './workload.js'

/** A cell of a target and its measured ratio; undefined if it could not be measured. */
interface Cell {
  readonly name: string
  readonly ratio: number | undefined
  /** The ratio if the cell took the time of its roofline. */
  readonly atRoofline?: number | undefined
}

/** By the places of STEP_UNITS. */
const STEP_GOALS = [0.06, 0.12, 0.3, 0.55] as const

interface Limits {
  readonly each?: number
  readonly mean?: number
}

/**
 * Compares the measurements of `executor` with its targets. Ratios are times over times unless stated. A cell that misses is
 * listed with the ratio that its roofline would give, a lower bound of any schedule.
 */
export function judgeTargets(
  comparisons: readonly ComparisonResult[],
  executor: string,
  isBaseline: (name: string) => boolean,
  memory: readonly MemoryResult[],
): TargetVerdict[] {
  const table = ofSection(comparisons, 'table')
  const own = (series: Series) => series.implementation === executor
  const atRoofline = (comparison: ComparisonResult, ratio: number | undefined) => {
    const ours = medianOf(comparison, own)
    if (ratio === undefined || ours === undefined || comparison.roofline === undefined) return undefined
    return (ratio * comparison.roofline.ms) / ours
  }
  const againstBaselines = (
    of: readonly ComparisonResult[],
    ratioOf: (comparison: ComparisonResult) => number | undefined,
  ) =>
    of.map((comparison) => {
      const ratio = ratioOf(comparison)
      return { name: cellName(comparison), ratio, atRoofline: atRoofline(comparison, ratio) }
    })
  const cells = (of: readonly ComparisonResult[], ratio: (comparison: ComparisonResult) => number | undefined) =>
    of.map((comparison) => ({ name: cellName(comparison), ratio: ratio(comparison) }))
  const over =
    (above: (series: Series) => boolean, below: (series: Series) => boolean) => (comparison: ComparisonResult) =>
      quotient(medianOf(comparison, above), medianOf(comparison, below))
  const ofPass = (pass: Series['pass']) => table.filter(({ results }) => results[0]?.series.pass === pass)
  const isSeed = ({ workload }: ComparisonResult) =>
    workload.cellMode === 'lstm' && sizesOf(workload) === '1 × 70 × 512'
  const compressed = (weights: Series['weights']) =>
    cells(
      ofSection(comparisons, 'weights'),
      over(
        (series) => series.weights === weights,
        (series) => series.weights === 'float32',
      ),
    )

  return [
    atMost(
      1,
      'Inference: time over the best baseline',
      { each: 1, mean: 0.8 },
      againstBaselines(ofPass('inference'), (comparison) => ratioToBestBaseline(comparison, executor, isBaseline)),
    ),
    atMost(
      2,
      'Training: time over PyTorch',
      { each: 0.95, mean: 0.42 },
      againstBaselines(
        ofPass('training'),
        over(own, (series) => series.implementation === 'pytorch'),
      ),
    ),
    atMost(
      3,
      "B 1, T 70, H 512: time over TensorFlow's fused LSTM",
      { each: 0.25 },
      againstBaselines(
        ofPass('inference').filter(isSeed),
        over(own, (series) => series.implementation === 'tensorflow'),
      ),
    ),
    ...STEP_UNITS.map((units, index) =>
      atMost(
        8,
        `stepSync, LSTM and GRU of H ${units} on one thread: time over ONNX Runtime's run with carried state`,
        { each: STEP_GOALS[index] },
        againstBaselines(
          ofSection(comparisons, 'step').filter(({ workload }) => workload.numUnits === units),
          over(own, (series) => series.implementation === 'onnxruntime'),
        ),
      ),
    ),
    atMost(4, 'bfloat16 weights, B 1, H 1024: time over our float32', { each: 0.6 }, compressed('bfloat16')),
    atMost(4, 'int8 weights, B 1, H 1024: time over our float32', { each: 0.4 }, compressed('int8')),
    atMost(
      5,
      'Streaming: T steps over one call',
      { each: 1.15 },
      cells(
        ofSection(comparisons, 'streaming'),
        over(
          (series) => series.pass === 'streaming',
          (series) => series.pass === 'inference',
        ),
      ),
    ),
    atMost(9, 'Memory that training adds to a fresh process: over PyTorch', { each: 0.7 }, [
      { name: 'training', ratio: quotient(addedByTraining(memory, executor), addedByTraining(memory, 'pytorch')) },
    ]),
    atLeast(
      6,
      'Two layers, bidirectional, B 1: one thread over two',
      1.6,
      cells(
        ofSection(comparisons, 'threads'),
        over(
          (series) => own(series) && series.threads === 1,
          (series) => own(series) && series.threads === 2,
        ),
      ),
    ),
    atMost(
      7,
      'Another process loads every core: time over the quiet machine',
      { each: 4 },
      cells(
        ofSection(comparisons, 'busy'),
        over(
          (series) => series.busy,
          (series) => !series.busy,
        ),
      ),
    ),
  ]
}

/** Bytes of the peak beyond the process before the workload was loaded; undefined if the system does not report them. */
function addedByTraining(memory: readonly MemoryResult[], implementation: string): number | undefined {
  const found = memory.find((each) => each.implementation === implementation && each.pass === 'training')
  return found?.peak == null || found.resident === null ? undefined : found.peak - found.resident
}

function atMost(number: number, what: string, { each, mean }: Limits, cells: readonly Cell[]): TargetVerdict {
  const limits = [each === undefined ? '' : `≤ ${each}`, mean === undefined ? '' : `geometric mean ≤ ${mean}`]
  const text = `${what} ${limits.filter((limit) => limit !== '').join(', ')}`
  return judged(
    number,
    text,
    cells,
    (ratio) => each === undefined || ratio <= each,
    (average) => mean === undefined || average <= mean,
  )
}

function atLeast(number: number, what: string, each: number, cells: readonly Cell[]): TargetVerdict {
  return judged(
    number,
    `${what} ≥ ${each}`,
    cells,
    (ratio) => ratio >= each,
    () => true,
  )
}

function judged(
  number: number,
  text: string,
  cells: readonly Cell[],
  reaches: (ratio: number) => boolean,
  meanReaches: (mean: number) => boolean,
): TargetVerdict {
  const known = cells.filter((cell): cell is Cell & { ratio: number } => cell.ratio !== undefined)
  if (known.length === 0) return { number, text, verdict: 'open', measured: 'not measured', misses: [] }
  const ratios = known.map(({ ratio }) => ratio)
  const mean = geometricMean(ratios)
  const misses = known.filter(({ ratio }) => !reaches(ratio))
  const missed = misses.length > 0 || !meanReaches(mean)
  const share = known.length === cells.length ? `${cells.length} cells` : `${known.length} of ${cells.length} cells`
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
  return {
    number,
    text,
    verdict: missed ? 'missed' : known.length < cells.length ? 'open' : 'met',
    measured: known.length === 1 ? `${mean.toFixed(2)}` : `${range}, geometric mean ${mean.toFixed(2)}, ${share}`,
    misses: misses.map(
      ({ name, ratio, atRoofline }) =>
        `${name}: ${ratio.toFixed(2)}${atRoofline === undefined ? '' : ` (roofline of this machine: ${atRoofline.toFixed(2)})`}`,
    ),
  }
}

function cellName({ workload, results }: ComparisonResult): string {
  return `${CELL_TITLES[workload.cellMode]} ${results.at(-1)?.series.pass ?? ''} ${sizesOf(workload)}`
}

function quotient(above: number | undefined, below: number | undefined): number | undefined {
  return above === undefined || below === undefined ? undefined : above / below
}
