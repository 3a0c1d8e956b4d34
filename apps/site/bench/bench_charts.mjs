// The charts of docs/bench: numbers of the stored results, or, if a benchmark stores none, of the tables that it writes into
// its page.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { barChart, dotChart, lineChart } from './charts.mjs'
import { headingLine, markdownTable, numberIn, tableLine } from './markdown_table.mjs'
import { geometricMeans, streamsResult } from './stored_results.mjs'

const EQUAL = { x: 1, text: 'as fast' }

/**
 * Charts by page of docs/bench: `(markdown, root) => [{ heading, table, figure }]`. A chart goes before the table number `table`
 * of the section `heading`; without `table`, below the heading.
 */
const CHARTS = {
  README: (_, root) => {
    const space = readFileSync(join(root, 'docs/bench/space.md'), 'utf8')
    return [{ heading: 'Last results', figure: spaceChart(space) }]
  },
  space: (markdown) => [{ heading: 'Summary', table: 0, figure: spaceChart(markdown) }],
  steps: (markdown) => [
    ratioColumns(markdown, {
      heading: 'Results',
      caption: 'A single step: our time over that of ONNX Runtime, one thread',
      series: { AVX2: 3, 'AVX-512': 5, goal: 1 },
    }),
  ],
  streams: (_, root) => streamCharts(streamsResult(root)),
  wasm: (markdown) => [
    ...['Node.js, one thread', 'Node.js, two threads'].map((heading) =>
      ratioColumns(markdown, {
        ...{ heading, caption: `${heading}: time of the WebAssembly executor over others` },
        series: { 'over onnxruntime-web': 3, 'over the native AVX2 kernels': 5 },
      }),
    ),
    ratioColumns(markdown, {
      ...{ heading: 'int8 weights', caption: 'Time with int8 weights over float32', series: { ratio: 3 } },
    }),
    ratioColumns(markdown, {
      ...{ heading: 'A page', table: 1, caption: 'In Chromium: time of the executor over onnxruntime-web' },
      series: { ratio: 3 },
    }),
  ],
  reshaping: (markdown) =>
    ['AVX-512', 'AVX2'].map((heading) =>
      ratioColumns(markdown, { heading, caption: `${heading}: time after over time before`, series: { ratio: 3 } }),
    ),
  tensorflow_cells: (markdown) => [
    ratioColumns(markdown, {
      caption: 'Time of our cells over those of TensorFlow and PyTorch',
      row: ([cell, rows]) => `${cell.replace(/ \(.*\)/, '')}, B\u00a0${rows}`,
      series: { inference: 3, training: 5 },
    }),
  ],
  tfjs: (markdown) => [
    ratioColumns(markdown, {
      caption: 'How many times as fast a batch is with accelerate, by executor',
      ...{ x: 'times as fast (log scale)', rules: [{ x: 15, text: 'goal for lstm' }] },
      value: (text) => numberIn(text.split(', ')[1]),
      row: ([name]) => name.replace(/ \(.*\)/, ''),
      series: { 'cpu, 2 threads': 2, 'cpu, 1 thread': 3, wasm: 4 },
    }),
  ],
  forecast: (markdown) => {
    const { rows } = markdownTable(markdown, undefined)
    const over = (column) => new Map(rows.map((row) => [row[0], numberIn(row[2]) / numberIn(row[column])]))
    return [
      {
        table: 0,
        figure: dotChart({
          caption: 'Error of the forecast over the error of each baseline, first seed',
          ...{ x: 'ratio of errors (log scale)', log: true, rules: [{ x: 1, text: 'as good' }] },
          rows: rows.map(([series]) => series),
          series: [
            { label: 'linear regression', values: over(3) },
            { label: 'seasonal naive', values: over(4) },
          ],
        }),
      },
    ]
  },
  distributed: distributedCharts,
  hot_loops: hotLoopCharts,
  // No two rows have the same networks, so that a chart would compare different things.
  kernel_mechanisms: () => [],
}

/** The Markdown of a page of docs/bench with its charts as code blocks of the language `chart`. */
export function withCharts(root, name, markdown) {
  const charts = CHARTS[name]
  if (charts === undefined) throw new Error(`Add charts of docs/bench/${name}.md to apps/site/bench/bench_charts.mjs`)
  const lines = markdown.split('\n')
  const inserted = charts(markdown, root).map(({ heading, table, figure }) => ({
    at: table === undefined ? headingLine(lines, heading) + 1 : tableLine(lines, heading, table),
    block: ['', '```chart', figure, '```', ''],
  }))
  // From the end, so that places before stay; charts of one place keep their order.
  for (const { at, block } of inserted.reverse().sort((a, b) => b.at - a.at)) lines.splice(at, 0, ...block)
  return lines.join('\n')
}

/** The geometric means of each instruction set; one without a network of a kind has an empty cell. */
function spaceChart(markdown) {
  const means = geometricMeans(markdown)
  const rows = [...new Set(means.map(({ kind }) => kind))]
  const series = [...new Set(means.map(({ set }) => set))].map((set) => {
    const own = means.filter((mean) => mean.set === set)
    return { label: set, values: new Map(own.map(({ kind, ratio }) => [kind, ratio])) }
  })
  const caption =
    'Networks of any size: time of the cpu executor over that of the fastest other library, geometric means'
  return dotChart({ caption, x: 'ratio of times (log scale)', rows, series, rules: [EQUAL], log: true })
}

/** A chart of columns of a table; `series` has the column of each label. */
function ratioColumns(
  markdown,
  { heading, table = 0, caption, series, value = numberIn, row = ([name]) => name, ...rest },
) {
  const { rows } = markdownTable(markdown, heading, table)
  return {
    ...{ heading, table },
    figure: dotChart({
      ...{ caption, x: 'ratio of times (log scale)', log: true, rules: [EQUAL], ...rest },
      rows: rows.map(row),
      series: Object.entries(series).map(([label, column]) => ({
        label,
        values: new Map(rows.map((cells) => [row(cells), value(cells[column])])),
      })),
    }),
  }
}

function streamCharts({ implementations }) {
  const held = implementations.map(({ label, held, name }) => ({ row: label, value: held, ours: name === 'pool' }))
  const series = implementations.map(({ label, windows }) => ({
    label,
    points: betterWindows(windows),
  }))
  const caption = 'Latency by the number of streams, the better window of each load'
  const rules = [{ y: 20, text: 'limit, 20 ms' }]
  return [
    {
      heading: 'Results',
      figure: barChart({ caption: 'Streams held at p99 ≤ 20 ms', x: 'streams', bars: held }),
    },
    { heading: 'Results', figure: lineChart({ caption, x: 'streams', y: 'p99, ms', series, rules }) },
  ]
}

/** A load that misses is measured once more. */
function betterWindows(windows) {
  const best = new Map()
  for (const { streams, p99Ms } of windows) best.set(streams, Math.min(p99Ms, best.get(streams) ?? p99Ms))
  return [...best].map(([x, y]) => ({ x, y })).sort((a, b) => a.x - b.x)
}

function distributedCharts(markdown) {
  const { rows } = markdownTable(markdown, undefined)
  const measure = new Map(rows)
  const pytorch = measure
    .get('PyTorch DDP over Gloo, 1 and 2 ranks')
    .split(/, (?=\d{2})/)
    .map(numberIn)
  const bars = [
    { row: '1 rank', value: numberIn(measure.get('1 rank')), ours: true },
    { row: '2 ranks', value: numberIn(measure.get('2 ranks')), ours: true },
    { row: '2 processes alone', value: numberIn(measure.get('2 processes without communication')), ours: true },
    { row: 'PyTorch, 1 rank', value: pytorch[0] },
    { row: 'PyTorch, 2 ranks', value: pytorch[1] },
  ]
  const steps = rows.flatMap(([name, value]) => {
    const [, ranks] = /^step of (\d ranks?), predicted and measured$/.exec(name) ?? []
    return ranks === undefined ? [] : [[ranks, ...value.split(', ').map(numberIn)]]
  })
  return [
    { table: 0, figure: barChart({ caption: 'Tokens per second in training', x: 'tokens/s', bars }) },
    {
      heading: 'Cost model',
      figure: dotChart({
        ...{ caption: 'A step by the number of ranks, predicted and measured', x: 'ms' },
        rows: steps.map(([ranks]) => ranks),
        series: ['predicted', 'measured'].map((label, index) => ({
          label,
          values: new Map(steps.map(([ranks, ...times]) => [ranks, times[index]])),
        })),
      }),
    },
  ]
}

/** Cells of these tables list processors with their values: `znver2 90 %, znver3 100 %`. */
function hotLoopCharts(markdown) {
  const chart = (heading, column, rest) => {
    const { rows } = markdownTable(markdown, heading)
    const values = new Map()
    for (const row of rows) {
      const bySet = row[column].split(', ').map((text) => /^(\S+) (\d+)/.exec(text))
      for (const [, core, value] of bySet) {
        const product = row[1]
        if (!values.has(product)) values.set(product, new Map())
        values.get(product).set(core, Number(value))
      }
    }
    const series = [...values].map(([label, of]) => ({ label, values: of }))
    const cores = [...new Set(series.flatMap(({ values: of }) => [...of.keys()]))]
    return { heading, table: 0, figure: dotChart({ ...rest, rows: cores, series }) }
  }
  return [
    chart(undefined, 5, { caption: 'Predicted share of the multiply-add peak', x: '%', domain: [0, 105] }),
    chart('One row', 4, { caption: 'Bytes of weights a cycle, one row', x: 'bytes a cycle', domain: [0, 66] }),
  ]
}
