import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { dirname, relative, resolve, sep } from 'node:path'
import { thrownMessage, visibleText } from '@cudnn-rnn/canonical/rules'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'
import type { Command } from 'commander'
import { integerAtLeast, numberAtLeast } from '../number_options.js'
import { LoadClient, type LoadWindow } from './load_client.js'
import { type ImplementationName, IMPLEMENTATIONS } from './load_implementations.js'
import { type ImplementationLoad, loadPage, type LoadReport, loadTable } from './load_page.js'
import { isHeld, searchLoad } from './load_search.js'
import { serveImplementation, type ServerUsage } from './load_server.js'

interface Options {
  readonly weights: string
  readonly audio: string
  readonly baselines: string
  readonly only?: string
  readonly cores: number
  readonly maxStreams: number
  readonly budget: number
  readonly window: number
  readonly fixed?: number
  readonly json: string
  readonly page: string
  readonly document?: string
}

const SETTLE_SECONDS = 1
const FIRST_LOAD = 25
/** Bytes of the header of a WAV file as most programs write it. */
const WAV_HEADER = 44

/** The load test of the voice server, and the process of its servers. */
export function addLoadCommand(program: Command): void {
  const names = Object.keys(IMPLEMENTATIONS)
  program
    .command('voice-load')
    .description('measure how many real-time streams the voice server holds, and its baselines behind the same server')
    .requiredOption('--weights <file>', 'silero_vad_16k_op15.onnx of github.com/snakers4/silero-vad')
    .requiredOption('--audio <file>', 'a WAV file of 16-bit samples at 16 kHz')
    .option('--baselines <folder>', 'where onnxruntime-node and sherpa-onnx-node are installed', 'apps/bench/baselines')
    .option('--only <name>', `one of ${names.join(', ')}`)
    .option('--cores <number>', 'cores of a server', integerAtLeast(1), availableParallelism())
    .option('--max-streams <number>', 'never open more connections', integerAtLeast(1), 6000)
    .option('--budget <seconds>', 'for each of the implementations', numberAtLeast(1), 65)
    .option('--window <seconds>', 'of one measurement', numberAtLeast(0.5), 2.5)
    .option(
      '--fixed <streams>',
      'measure this load alone, held or not: CPU per frame means something on a busy machine too',
      integerAtLeast(1),
    )
    .option('--json <file>', 'the measurements', 'voice_load.json')
    .option('--page <file>', 'the page with a chart', 'voice_load.html')
    .option('--document <file>', 'a Markdown file whose results between <!-- voice-load --> marks are replaced')
    .action(measureAll)
  program
    .command('voice-load-server', { hidden: true })
    .argument('<implementation>')
    .argument('<options>')
    .action((name: ImplementationName, options: string) => serveImplementation(name, JSON.parse(options)))
}

async function measureAll(options: Options): Promise<void> {
  const cores = availableParallelism()
  const loadBefore = loadavg()[0] / cores
  const samples = (await readRegularFile(options.audio)).subarray(WAV_HEADER)
  const implementations: ImplementationLoad[] = []
  for (const name of Object.keys(IMPLEMENTATIONS) as ImplementationName[]) {
    if (options.only !== undefined && options.only !== name) continue
    const load = await measureImplementation(name, samples, options)
    implementations.push(load)
    process.stdout.write(`${load.label}: ${load.leftOut ?? `${load.held} streams`}\n`)
    const report: LoadReport = {
      date: new Date().toISOString().slice(0, 10),
      machine: { processor: cpus()[0].model, cores: String(cores), 'Node.js': process.version },
      loadBefore,
      implementations,
    }
    // After each, so that a test that is cut off leaves something.
    await writeFile(options.json, `${JSON.stringify(report, undefined, 2)}\n`)
    await writeFile(options.page, loadPage(report))
    if (options.document !== undefined) await writeLoadSection(options.document, report, options)
  }
  process.stdout.write(`${visibleText(options.json)}\n${visibleText(options.page)}\n`)
}

async function measureImplementation(
  name: ImplementationName,
  samples: Buffer,
  options: Options,
): Promise<ImplementationLoad> {
  const { label } = IMPLEMENTATIONS[name]
  const { weights, baselines, cores, maxStreams, budget, window, fixed } = options
  const server = fork(
    process.argv[1],
    ['voice-load-server', name, JSON.stringify({ weights, baselines, cores, maxStreams })],
    {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // libuv's threads run the sessions of onnxruntime-node.
      env: { ...process.env, UV_THREADPOOL_SIZE: String(cores) },
    },
  )
  let messages = ''
  server.stderr?.on('data', (data) => {
    messages = `${messages}${data}`.slice(-2000)
  })
  const port = await Promise.race([
    once(server, 'message').then(([message]) => (message as { port: number }).port),
    once(server, 'exit').then(() => undefined),
  ])
  if (port === undefined) {
    const reason = messages.split('\n').find((line) => line.startsWith('error')) ?? 'its server ended'
    return { name, label, leftOut: reason, held: 0, windows: [] }
  }
  const end = performance.now() + 1000 * budget
  const client = new LoadClient(port, samples)
  try {
    const idle = await usageOf(server)
    const measure = async (streams: number): Promise<LoadWindow> => {
      await client.resize(streams)
      return client.measure(SETTLE_SECONDS, window)
    }
    // The last window is left for the usage.
    const isOver = () => performance.now() > end - 1000 * (window + 2 * SETTLE_SECONDS)
    const { held, windows } =
      fixed === undefined
        ? await searchLoad(FIRST_LOAD, maxStreams, measure, isOver)
        : await measure(fixed).then((only) => ({ held: only, windows: [only] }))
    if (held === undefined) return { name, label, held: 0, windows }
    const streams = fixed ?? Math.max(1, Math.floor(0.8 * held.streams))
    await client.resize(streams)
    await client.measure(SETTLE_SECONDS, SETTLE_SECONDS)
    await usageOf(server)
    const { p99Ms } = await client.measure(0, window)
    const used = await usageOf(server)
    const frames = (used.wallSeconds * streams * 1000) / 32
    return {
      ...{ name, label, held: isHeld(held) ? held.streams : 0, windows },
      usage: {
        ...{ streams, p99Ms, eventLoopDelayP99Ms: used.eventLoopDelayP99Ms },
        cpuMicrosecondsPerFrame: (1e6 * used.cpuSeconds) / frames,
        bytesPerStream: (used.rssBytes - idle.rssBytes) / streams,
        server: used,
      },
    }
  } catch (error) {
    return {
      name,
      label,
      leftOut: `the test failed: ${thrownMessage(error)}`,
      held: 0,
      windows: [],
    }
  } finally {
    client.close()
    server.disconnect()
    if (server.exitCode === null) await once(server, 'exit')
  }
}

async function usageOf(server: ChildProcess): Promise<ServerUsage> {
  server.send({ usage: true })
  const [usage] = (await once(server, 'message')) as [ServerUsage]
  return usage
}

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
