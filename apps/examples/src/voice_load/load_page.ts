import { htmlPage, lineChart, type ResultTable, settingsHtml, tableHtml } from '@cudnn-rnn/rnn/report'
import type { LoadWindow } from './load_client.js'
import { LIMIT_MS } from './load_search.js'
import type { ServerUsage } from './load_server.js'

/** The measurement of one implementation. */
export interface ImplementationLoad {
  readonly name: string
  readonly label: string
  /** Why it did not take part. */
  readonly leftOut?: string
  readonly held: number
  readonly windows: readonly LoadWindow[]
  /** At 80 % of the largest load held. */
  readonly usage?: {
    readonly streams: number
    readonly cpuMicrosecondsPerFrame: number
    readonly bytesPerStream: number
    readonly eventLoopDelayP99Ms: number
    readonly p99Ms: number
    readonly server: ServerUsage
  }
}

export interface LoadReport {
  readonly date: string
  readonly machine: Readonly<Record<string, string>>
  /** Processes that ran beside the test in the minute before: the load average over the cores. */
  readonly loadBefore: number
  readonly implementations: readonly ImplementationLoad[]
}

const COLORS = ['var(--ours)', 'var(--train)', 'var(--second)', 'var(--third)']

/** A row for each implementation. */
export function loadTable(implementations: readonly ImplementationLoad[]): ResultTable {
  return {
    header: [
      'behind the same server',
      `streams held at p99 ≤ ${LIMIT_MS} ms`,
      'CPU per frame, µs',
      'memory per stream, KiB',
      'event-loop delay p99, ms',
      'latency p99, ms',
    ],
    rows: implementations.map(({ label, leftOut, held, usage }) => [
      label,
      leftOut ?? String(held),
      usage?.cpuMicrosecondsPerFrame.toFixed(0) ?? '',
      usage === undefined ? '' : (usage.bytesPerStream / 1024).toFixed(0),
      usage?.eventLoopDelayP99Ms.toFixed(1) ?? '',
      usage?.p99Ms.toFixed(1) ?? '',
    ]),
  }
}

export function loadPage({ date, machine, loadBefore, implementations }: LoadReport): string {
  const measured = implementations.filter(({ windows }) => windows.length > 0)
  const ours = measured.find(({ name }) => name === 'pool')
  const sessions = measured.find(({ name }) => name === 'onnx-sessions')
  const ratio =
    ours && sessions && sessions.held > 0
      ? `, ${(ours.held / sessions.held).toFixed(1)} × as many as a session of onnxruntime-node per stream`
      : ''
  const isLoaded = loadBefore > 0.2
  const remark = isLoaded
    ? ` <strong>The machine was loaded (${loadBefore.toFixed(1)} runnable processes per core before the test): these numbers are too low, and their ratios uncertain.</strong>`
    : ''
  const chart = lineChart({
    x: 'streams',
    y: 'p99 of the latency, ms',
    top: 5 * LIMIT_MS,
    rules: [{ y: LIMIT_MS, text: `${LIMIT_MS} ms` }],
    series: measured.map(({ label, windows }, index) => ({
      label,
      color: COLORS[index % COLORS.length],
      dots: true,
      points: [...windows]
        .sort((a, b) => a.streams - b.streams)
        .map(({ streams, p99Ms }) => ({ x: streams, y: Math.min(p99Ms, 1e4) })),
    })),
  })
  return htmlPage({
    title: 'Real-time streams of voice activity detection',
    resultHtml: `<b>${ours?.held ?? 0} streams</b> at p99 ≤ ${LIMIT_MS} ms${ratio}.${remark}`,
    sections: [
      { heading: 'Latency by the number of streams', html: chart },
      {
        heading: 'Implementations',
        html: tableHtml({ ...loadTable(implementations), best: 0 }),
      },
      {
        heading: 'Method',
        html: `<p>Every implementation computes Silero VAD 6.2 from the same file, in a separate server process behind the same
WebSocket front end. The client is another process on the same cores, so its work is part of the load: it sends each
stream a frame of 512 samples every 32 ms, spread evenly, and measures from sending to the probability. A load is held
where the p99 of a window is at most ${LIMIT_MS} ms, 99 % of the frames are answered and no connection is lost. The last
four columns are measured at 80 % of the streams held. CPU is that of the server process, sockets included.</p>`,
      },
      { heading: 'Machine', html: settingsHtml([['date', date], ...Object.entries(machine)]) },
    ],
  })
}
