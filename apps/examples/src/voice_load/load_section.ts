import { writeFile } from 'node:fs/promises'
import { dirname, relative, resolve, sep } from 'node:path'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'
import { type LoadReport, loadTable } from './load_page.js'

const BEGIN = '<!-- voice-load -->'
const END = '<!-- /voice-load -->'

/** Goals: streams held over a session of onnxruntime-node per stream, and event-loop delay in ms. */
const GOALS = Object.freeze({ overSessions: 4, eventLoopDelayMs: 5 })

/** The results of a load test as Markdown; `page` and `json` are links. */
export function loadSection(
  { date, machine, loadBefore, implementations }: LoadReport,
  links: { readonly page: string; readonly json: string },
): string {
  const heldBy = (name: string) => implementations.find((each) => each.name === name)?.held ?? 0
  const [ours, sessions] = [heldBy('pool'), heldBy('onnx-sessions')]
  const delay = implementations.find(({ name }) => name === 'pool')?.usage?.eventLoopDelayP99Ms
  const settings = Object.entries(machine).map(([name, value]) => `${name} ${value}`)
  const table = loadTable(implementations)
  return [
    `${date}; ${settings.join(', ')}; ${loadBefore.toFixed(1)} runnable processes per core before the test. [Chart of the latency by the number of streams](${links.page}), [all measurements](${links.json}).`,
    '',
    line(table.header),
    `|${table.header.map(() => '---|').join('')}`,
    ...table.rows.map(line),
    '',
    '| number | goal | measured |',
    '|---|---|---|',
    `| streams held, pool over a session of onnxruntime-node per stream | ≥ ${GOALS.overSessions} × | ${sessions === 0 ? 'not measured' : `${(ours / sessions).toFixed(1)} ×`} |`,
    `| event-loop delay p99 of the pool at 80 % of its load | ≤ ${GOALS.eventLoopDelayMs} ms | ${delay === undefined ? 'not measured' : `${delay.toFixed(1)} ms`} |`,
  ].join('\n')
}

/** Replaces the results in a Markdown file, or appends them if it has none. */
export async function writeLoadSection(
  file: string,
  report: LoadReport,
  { page, json }: { readonly page: string; readonly json: string },
): Promise<void> {
  const text = String(await readRegularFile(file))
  const link = (target: string) =>
    relative(dirname(resolve(file)), resolve(target))
      .split(sep)
      .join('/')
  const section = loadSection(report, { page: link(page), json: link(json) })
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
  const isMarked = begin >= 0 && end > begin
  const [before, after] = isMarked ? [text.slice(0, begin), text.slice(end)] : [`${text}\n`, `${END}\n`]
  await writeFile(file, `${before}${BEGIN}\n${section}\n${after}`)
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
