import { type BenchReport, type ComparisonResult, ratioToBestBaseline } from './bench_report.js'
import { geometricMean } from './statistics.js'
import { CELL_TITLES, type Pass, sizesOf } from './workload.js'

/** What `space` measured; what `--json` writes. */
export interface SpaceReport
  extends Pick<BenchReport, 'date' | 'machine' | 'loadBefore' | 'implementations' | 'comparisons'> {
  /** The seed that drew networks. */
  readonly seed: number
}

/** A network with our time over the fastest other implementation's. */
export interface SpaceRatio {
  readonly result: ComparisonResult
  readonly pass: Pass
  readonly threads: number
  readonly ratio: number
}

/** The ratios of networks that our executor and another implementation have run. */
export function spaceRatios({ implementations, comparisons }: SpaceReport): SpaceRatio[] {
  const executor = implementations.find(({ kind }) => kind === 'executor')?.name ?? ''
  return comparisons.flatMap((result) => {
    const ratio = ratioToBestBaseline(result, executor, (name) => name !== executor)
    if (ratio === undefined) return []
    const [{ series }] = result.results
    return [{ result, pass: series.pass, threads: series.threads, ratio }]
  })
}

/** Values by a name that each has. */
export function groupedBy<Value>(values: readonly Value[], nameOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>()
  for (const value of values) groups.set(nameOf(value), [...(groups.get(nameOf(value)) ?? []), value])
  return groups
}

/** A row of texts for each pass and number of threads. */
export function spaceSummary(report: SpaceReport): { readonly header: string[]; readonly rows: string[][] } {
  const header = ['networks', 'number', 'geometric mean', 'above 1', 'above 1.05', 'worst']
  const groups = groupedBy(
    spaceRatios(report),
    ({ pass, threads }) => `${pass}, ${threads} thread${threads > 1 ? 's' : ''}`,
  )
  const rows = [...groups].map(([name, group]) => {
    const ratios = group.map(({ ratio }) => ratio)
    const above = (limit: number) => String(ratios.filter((ratio) => ratio > limit).length)
    return [
      name,
      String(ratios.length),
      geometricMean(ratios).toFixed(2),
      above(1),
      above(1.05),
      Math.max(...ratios).toFixed(2),
    ]
  })
  return { header, rows }
}

/** Rows of the ten networks with the largest ratios. */
export function worstNetworks(report: SpaceReport): { readonly header: string[]; readonly rows: string[][] } {
  const worst = spaceRatios(report).toSorted((a, b) => b.ratio - a.ratio)
  const rows = worst.slice(0, 10).map((each) => [networkName(each), ...timesOf(each.result), each.ratio.toFixed(2)])
  return { header: ['network, B × T × H', 'ours, ms', 'best other, ms', 'ratio'], rows }
}

function networkName({ result: { workload }, pass, threads }: SpaceRatio): string {
  const { cellMode, numLayers, bidirectional, inputSize, numUnits } = workload
  const traits = [
    inputSize === numUnits ? '' : `inputs ${inputSize}`,
    numLayers === 1 ? '' : `${numLayers} layers`,
    bidirectional ? 'both directions' : '',
    pass,
    `${threads} thread${threads > 1 ? 's' : ''}`,
  ]
  return [`${CELL_TITLES[cellMode]} ${sizesOf(workload)}`, ...traits.filter((trait) => trait !== '')].join(', ')
}

/** Ours is the first series. */
function timesOf({ results: [ours, ...others] }: ComparisonResult): [string, string] {
  const medians = others.flatMap(({ series, outcome }) =>
    outcome.status === 'measured' ? [{ name: series.implementation, ms: outcome.spread.median }] : [],
  )
  const best = medians.reduce((least, each) => (each.ms < least.ms ? each : least))
  const own = ours.outcome.status === 'measured' ? ours.outcome.spread.median : Number.NaN
  return [own.toFixed(3), `${best.ms.toFixed(3)} ${best.name}`]
}
