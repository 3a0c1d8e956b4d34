import type { ResultTable } from '@cudnn-rnn/rnn/report'
import { type BenchReport, type NetworkRatio, networkRatios, reducedRatios } from './bench_report.js'
import { type ComparisonResult, precisionOf } from './comparison.js'
import { geometricMean } from './statistics.js'
import { CELL_TITLES, sizesOf } from './workload.js'

const WORST = 10

/** The pass and the number of threads of a network. */
function kindOf({ result: { results } }: { readonly result: ComparisonResult }): string {
  const [{ series }] = results
  const pass = series.pass === 'streaming' ? 'single steps' : series.pass
  return `${pass}, ${series.threads} thread${series.threads > 1 ? 's' : ''}`
}

/** Values by a name that each has. */
export function groupedBy<Value>(values: readonly Value[], nameOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>()
  for (const value of values) groups.set(nameOf(value), [...(groups.get(nameOf(value)) ?? []), value])
  return groups
}

/** A row for each pass and number of threads. */
export function summaryTable(report: BenchReport): ResultTable {
  const rows = [...groupedBy(networkRatios(report), kindOf)].map(([name, group]) => {
    const ratios = group.map(({ ratio }) => ratio)
    const above = (limit: number) => String(ratios.filter((ratio) => ratio > limit).length)
    const mean = geometricMean(ratios).toFixed(2)
    return [name, String(ratios.length), mean, above(1), above(1.05), Math.max(...ratios).toFixed(2)]
  })
  return { header: ['networks', 'number', 'geometric mean', 'above 1', 'above 1.05', 'greatest'], rows }
}

/** A row for each precision, pass and number of threads: over our own float32, and over the fastest other implementation. */
export function reducedTable(report: BenchReport): ResultTable {
  const groups = groupedBy(reducedRatios(report), (ratio) => `${precisionOf(ratio.result)}, ${kindOf(ratio)}`)
  const rows = [...groups].map(([name, group]) => {
    const own = group.map(({ overFloat32 }) => overFloat32)
    const others = group.flatMap(({ overOther }) => overOther ?? [])
    const of = (ratios: readonly number[], value: (ratios: readonly number[]) => number) =>
      ratios.length === 0 ? '–' : value(ratios).toFixed(2)
    const largest = (ratios: readonly number[]) => Math.max(...ratios)
    return [
      name,
      String(own.length),
      of(own, geometricMean),
      of(own, largest),
      ...[of(others, geometricMean), of(others, largest)],
    ]
  })
  return { header: ['networks', 'number', 'over our float32', 'greatest', 'over the fastest other', 'greatest'], rows }
}

/** The networks with the largest ratios. A bound above 1 shows that no schedule of this machine reaches the other library. */
export function worstTable(report: BenchReport): ResultTable {
  const worst = networkRatios(report).toSorted((a, b) => b.ratio - a.ratio)
  return networkTable(worst.slice(0, WORST))
}

/** Single steps with carried state; times are of all T steps. */
export function stepTable(report: BenchReport): ResultTable {
  return networkTable(networkRatios(report).filter(({ result }) => result.id.startsWith('step/')))
}

function networkTable(networks: readonly NetworkRatio[]): ResultTable {
  return {
    header: ['network, B × T × H', 'ours, ms', 'best other, ms', 'ratio', 'bound of the ratio'],
    rows: networks.map((network) => {
      const { ms, best, ratio, result } = network
      const bound = result.roofline === undefined ? '–' : (result.roofline.ms / best.ms).toFixed(2)
      return [networkName(network), ms.toFixed(3), `${best.ms.toFixed(3)} ${best.name}`, ratio.toFixed(2), bound]
    }),
  }
}

function networkName(network: NetworkRatio): string {
  const { workload } = network.result
  const { cellMode, numLayers, bidirectional, inputSize, numUnits } = workload
  const traits = [
    inputSize === numUnits ? '' : `inputs ${inputSize}`,
    numLayers === 1 ? '' : `${numLayers} layers`,
    bidirectional ? 'both directions' : '',
    kindOf(network),
  ]
  return [`${CELL_TITLES[cellMode]} ${sizesOf(workload)}`, ...traits.filter((trait) => trait !== '')].join(', ')
}

/** Ratios of the grid by H and B, a table for each cell, pass and number of threads. */
export function gridRatios(report: BenchReport): Map<string, NetworkRatio[]> {
  const grid = networkRatios(report).filter(({ result }) => result.id.startsWith('grid/'))
  return groupedBy(grid, (network) => `${CELL_TITLES[network.result.workload.cellMode]}, ${kindOf(network)}`)
}

/** The machine, date and other libraries of a report, in a line. */
export function conditionsOf({ machine, date, seed, loadBefore, implementations }: BenchReport): string {
  const others = implementations
    .filter(({ kind, participates }) => kind === 'baseline' && participates)
    .map(({ title, version }) => `${title} ${version}`)
  return `${machine.processor}, Node.js ${machine.node}, ${date.slice(0, 10)}, load ${loadBefore.toFixed(1)} before the run, networks drawn by seed ${seed}, beside ${others.join(', ')}`
}
