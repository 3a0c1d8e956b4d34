import { required } from '@cudnn-rnn/canonical/rules'
import {
  type BenchReport,
  bestBaseline,
  type ComparisonResult,
  medianOf,
  type Outcome,
  ofSection,
  ratioToBestBaseline,
} from './bench_report.js'
import type { Section, Series, WeightType } from './comparison.js'
import { mebibytes, percent, threeDigits } from './number_format.js'
import { geometricMean } from './statistics.js'
import { CELL_TITLES, sizesOf, type Workload } from './workload.js'

/** A table of strings; the first column names the row, the others are numbers. */
export interface ReportTable {
  readonly title: string
  /** The meaning and unit of the numbers, in a sentence. */
  readonly note: string
  readonly headers: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Every table of a report that has rows, in reading order. */
export function reportTables(report: BenchReport): ReportTable[] {
  const { comparisons } = report
  const runner = report.implementations.find(({ kind, participates }) => kind === 'executor' && participates)
  const executor = required(runner, 'a run without an executor of this project ends before its report').name
  return [
    passTable(report, executor, 'inference'),
    passTable(report, executor, 'training'),
    lanesTable(comparisons, 'step', executor, {
      title: 'Single steps with carried state',
      note: "T steps at B 1 on one thread, B × T × H, milliseconds: stepSync, and ONNX Runtime's run with the states handed on.",
      extras: [
        ratioColumn(
          'ratio',
          ({ implementation }) => implementation === executor,
          ({ implementation }) => implementation === 'onnxruntime',
        ),
      ],
    }),
    lanesTable(comparisons, 'streaming', executor, {
      title: 'One step at a time',
      note: 'T calls of stepSync against one call over T steps, B × T × H, milliseconds.',
      extras: [
        ratioColumn(
          'ratio',
          ({ pass }) => pass === 'streaming',
          ({ pass }) => pass === 'inference',
        ),
      ],
    }),
    lanesTable(comparisons, 'threads', executor, {
      title: 'Two bidirectional layers on one thread and on two',
      note: 'Milliseconds, and how much faster two threads are.',
      extras: [
        ...new Set(
          ofSection(comparisons, 'threads').flatMap(({ results }) =>
            results.map(({ series }) => series.implementation),
          ),
        ),
      ].map((name) =>
        ratioColumn(
          `${name} gains`,
          ({ implementation, threads }) => implementation === name && threads === 1,
          ({ implementation, threads }) => implementation === name && threads === 2,
        ),
      ),
    }),
    lanesTable(comparisons, 'weights', executor, {
      title: 'Smaller weights',
      note: 'Milliseconds, and how far the outputs are from those of float32 weights.',
      extras: [
        ratioColumn('bfloat16 ratio', ({ weights }) => weights === 'bfloat16', isFull),
        ratioColumn('int8 ratio', ({ weights }) => weights === 'int8', isFull),
        differenceColumn('bfloat16'),
        differenceColumn('int8'),
      ],
    }),
    lanesTable(comparisons, 'busy', executor, {
      title: 'On a busy machine',
      note: 'Milliseconds alone, and while another process loads every core.',
      extras: [
        ratioColumn(
          'ratio',
          ({ busy }) => busy,
          ({ busy }) => !busy,
        ),
      ],
    }),
    rooflineTable(report, executor),
    ratesTable(report),
    memoryTable(report),
    agreementTable(report),
  ].filter(({ rows }) => rows.length > 0)
}

/** A cell as people read it: median and quartiles, or why there is none. */
function outcomeText(outcome: Outcome | undefined): string {
  if (outcome === undefined) return ''
  switch (outcome.status) {
    case 'measured': {
      const { median, q1, q3 } = outcome.spread
      return `${threeDigits(median)} (${threeDigits(q1)}–${threeDigits(q3)})`
    }
    case 'differs':
      return `differs by ${outcome.difference.toExponential(0)}`
    default:
      return outcome.status
  }
}

function passTable(report: BenchReport, executor: string, pass: 'inference' | 'training'): ReportTable {
  const { implementations, peak, comparisons, settings } = report
  const cells = ofSection(comparisons, 'table').filter(({ results }) => results[0]?.series.pass === pass)
  const shown = implementations.filter(({ name }) =>
    cells.some(({ results }) => results.some(({ series }) => series.implementation === name)),
  )
  const baselines = new Set(implementations.filter(({ kind }) => kind === 'baseline').map(({ name }) => name))
  const ratios: number[] = []
  const rows = cells.map((cell) => {
    const ratio = ratioToBestBaseline(cell, executor, (name) => baselines.has(name))
    if (ratio !== undefined) ratios.push(ratio)
    const ms = medianOf(cell, ({ implementation }) => implementation === executor)
    const gflops = ms === undefined ? undefined : cell.flops / (ms * 1e6)
    return [
      rowName(cell.workload),
      ...shown.map(({ name }) =>
        outcomeText(cell.results.find(({ series }) => series.implementation === name)?.outcome),
      ),
      ratio?.toFixed(2) ?? '',
      gflops === undefined ? '' : threeDigits(gflops),
      gflops === undefined ? '' : percent(gflops / peak.gflops),
    ]
  })
  if (ratios.length > 0) {
    rows.push(['geometric mean', ...shown.map(() => ''), geometricMean(ratios).toFixed(2), '', ''])
  }
  const what = pass === 'training' ? 'Training: forward and backward with all gradients' : 'Inference'
  return {
    title: what,
    note: `Milliseconds, median (quartiles), ${settings.threads} threads, B × T × H, I = H. The ratio is ${executor} over its fastest baseline; GFLOP/s and the share of the peak are ${executor}'s.`,
    headers: ['cell', ...shown.map(({ name }) => name), 'ratio', 'GFLOP/s', 'of peak product'],
    rows,
  }
}

interface LanesTable {
  readonly title: string
  readonly note: string
  /** Columns after the series. */
  readonly extras: readonly ExtraColumn[]
}

interface ExtraColumn {
  readonly header: string
  readonly text: (comparison: ComparisonResult) => string
}

const isFull = ({ weights }: Series) => weights === 'float32'

/** Time of one series over another's. */
function ratioColumn(
  header: string,
  above: (series: Series) => boolean,
  below: (series: Series) => boolean,
): ExtraColumn {
  return {
    header,
    text: (comparison) => {
      const top = medianOf(comparison, above)
      const bottom = medianOf(comparison, below)
      return top === undefined || bottom === undefined ? '' : (top / bottom).toFixed(2)
    },
  }
}

function differenceColumn(weights: WeightType): ExtraColumn {
  return {
    header: `${weights} differs by`,
    text: ({ results }) => {
      const outcome = results.find(({ series }) => series.weights === weights)?.outcome
      return outcome?.status === 'measured' ? (outcome.difference?.toExponential(1) ?? '') : ''
    },
  }
}

/** A row per comparison and a column per series, then the ratios derived from them. */
function lanesTable(
  comparisons: readonly ComparisonResult[],
  section: Section,
  executor: string,
  { title, note, extras }: LanesTable,
): ReportTable {
  const cells = ofSection(comparisons, section)
  const columns = [...new Set(cells.flatMap(({ results }) => results.map(({ series }) => columnName(series, section))))]
  const rows = cells.map((cell) => {
    const pass = section === 'busy' ? ` ${cell.results[0].series.pass}` : ''
    return [
      `${rowName(cell.workload)}${pass}`,
      ...columns.map((column) =>
        outcomeText(cell.results.find(({ series }) => columnName(series, section) === column)?.outcome),
      ),
      ...extras.map(({ text }) => text(cell)),
    ]
  })
  const headers = ['cell', ...columns, ...extras.map(({ header }) => header)]
  return { title, note: `${note} The executor is ${executor}.`, headers, rows }
}

function columnName(series: Series, section: Section): string {
  switch (section) {
    case 'streaming':
      return series.pass === 'streaming' ? 'step by step' : 'one call'
    case 'threads':
      return `${series.implementation}, ${series.threads} thread${series.threads === 1 ? '' : 's'}`
    case 'weights':
      return series.weights
    case 'busy':
      return series.busy ? 'busy' : 'alone'
    case 'table':
    case 'step':
    case 'space':
      return series.implementation
    default:
      return section satisfies never
  }
}

function rooflineTable({ comparisons, implementations }: BenchReport, executor: string): ReportTable {
  const baselines = new Set(implementations.filter(({ kind }) => kind === 'baseline').map(({ name }) => name))
  const rows = comparisons.flatMap((comparison) => {
    const { roofline, workload, results } = comparison
    if (roofline === undefined) return []
    const ours = medianOf(comparison, ({ implementation }) => implementation === executor)
    const baseline = bestBaseline(comparison, (name) => baselines.has(name))
    const reached = (ms: number | undefined) =>
      ms === undefined ? ['', ''] : [threeDigits(ms), percent(roofline.ms / ms)]
    return [
      [
        `${rowName(workload)} ${PASS_TITLES[results[0].series.pass]}`,
        threeDigits(roofline.operations / 1e6),
        threeDigits(roofline.bytes / 1e6),
        threeDigits(roofline.ms),
        roofline.boundBy,
        ...reached(ours),
        baseline?.name ?? '',
        ...reached(baseline?.ms),
      ],
    ]
  })
  return {
    title: 'Rooflines',
    note: 'The least time of each cell by the rates below, in milliseconds: operations and bytes of the weights, with a barrier at every step where two are faster than one; activations, states and results are not counted. Then the measured times and the share of them that the bound is.',
    headers: ['cell', 'Mflop', 'MB', 'bound', 'by', executor, 'of bound', 'best baseline', 'ms', 'of bound'],
    rows,
  }
}

const PASS_TITLES = { inference: 'inference', training: 'training', streaming: 'steps' } as const

function ratesTable({ rates }: BenchReport): ReportTable {
  const rows =
    typeof rates === 'string'
      ? []
      : [
          ['multiply-adds in registers, GFLOP/s', ...rates.gflops.map(threeDigits)],
          ...rates.reads.map(({ bytes, gigabytes }) => [
            `reading ${bytes < 2 ** 20 ? `${bytes / 2 ** 10} KiB` : `${bytes / 2 ** 20} MiB`}, GB/s`,
            ...gigabytes.map(threeDigits),
          ]),
          ['barrier of all threads, ns', '', threeDigits(rates.barrierNs)],
        ]
  return {
    title: 'Rates of this machine',
    note: 'Measured by native/machine_rates: the best of several short rounds. A matrix is read again and again, each thread its own part, forwards and backwards in turns.',
    headers: ['rate', 'one thread', typeof rates === 'string' ? '' : `${rates.threads} threads`],
    rows,
  }
}

function memoryTable({ memory, implementations }: BenchReport): ReportTable {
  const rows = implementations.flatMap(({ name }) => {
    const [inference, training] = (['inference', 'training'] as const).map((wanted) =>
      memory.results.find(({ implementation, pass }) => implementation === name && pass === wanted),
    )
    if (inference === undefined) return []
    const extra = (result: typeof inference | undefined) =>
      result === undefined || result.peak === null || result.resident === null
        ? '–'
        : mebibytes(Math.max(0, result.peak - result.resident))
    return [[name, mebibytes(inference.resident), extra(inference), extra(training), mebibytes(inference.peak)]]
  })
  return {
    title: 'Memory',
    note: `${memory.workload}, in a separate process that also holds the operands.`,
    headers: [
      'implementation',
      'loaded, before work',
      'inference adds at most',
      'training adds at most',
      'peak of inference',
    ],
    rows,
  }
}

function agreementTable({ comparisons, implementations }: BenchReport): ReportTable {
  const rows = implementations.flatMap(({ name }) => {
    const differences = (pass: Series['pass']) =>
      comparisons.flatMap(({ results }) =>
        results.flatMap(({ series, outcome }) => {
          if (series.implementation !== name || series.pass !== pass || series.weights !== 'float32') return []
          const known = outcome.status === 'measured' || outcome.status === 'differs' ? outcome.difference : undefined
          return known === undefined ? [] : [known]
        }),
      )
    const [inference, training] = (['inference', 'training'] as const).map(differences)
    const largest = (values: readonly number[]) => (values.length === 0 ? '' : Math.max(...values).toExponential(1))
    return inference.length + training.length === 0 ? [] : [[name, largest(inference), largest(training)]]
  })
  return {
    title: 'Agreement',
    note: 'Largest absolute difference from the first implementation of each cell, over all cells, tensors with values above 1 in units of their largest. Above 1e-4 a time would not be shown.',
    headers: ['implementation', 'outputs', 'outputs and gradients'],
    rows,
  }
}

function rowName(workload: Workload): string {
  return `${CELL_TITLES[workload.cellMode]} ${sizesOf(workload)}`
}
