import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judged, type Outcome, skipped } from './outcome.js'
import { appendLine, Progress } from './progress.js'
import { writeReport } from './report.js'
import { outcomesOf } from './result_files.js'
import type { RunOptions } from './run_options.js'
import { type Section, sections } from './sections.js'
import { shareTorch } from './torch_baseline.js'

/** Seconds that are kept for the last section, the times. */
const KEPT_FOR_TIMING = 200
/** A section needs more to say anything. */
const LEAST_SECONDS = 5
/** Without a limit of the run a section gets this long, on machines of any speed. */
const UNLIMITED_SECONDS = 3600
/** Processes of one section: each resumes after the item that ended its predecessor. */
const MOST_ATTEMPTS = 6

/**
 * Runs every section in a separate process, and writes the report after each: whenever this process ends, results and
 * report are on the disk, and `--resume` runs the rest. Resolves with the exit status: 1 if anything failed.
 */
export async function runAll(options: RunOptions): Promise<number> {
  const { folder, python, limit, only, isResumed } = options
  const all = chosenSections(sections(python), only)
  mkdirSync(folder, { recursive: true })
  if (only.length === 0 && !isResumed) {
    for (const file of new Set(all.map((section) => section.file))) writeFileSync(join(folder, `${file}.jsonl`), '')
  }
  if (!isResumed) writeFileSync(join(folder, 'progress.jsonl'), '')
  const cache = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
  const holder = holdContext(options, cache)
  const torch = python !== '' && all.some(({ argument }) => argument === python) ? shareTorch(python, cache) : undefined
  const end = limit === 0 ? Number.POSITIVE_INFINITY : performance.now() + limit * 1000
  let failed = 0
  const run = async (section: Section) => {
    const kept = section.file === 'timing' || only.length > 0 ? LEAST_SECONDS : Math.min(KEPT_FOR_TIMING, limit / 3)
    const seconds = limit === 0 ? UNLIMITED_SECONDS : section.seconds
    const until = Math.min(performance.now() + seconds * 1000, end - kept * 1000)
    failed += await runSection(options, { ...section, env: { ...section.env, ...torch?.env } }, until, cache)
    Progress.endSection(folder, section.name)
    writeReport(folder, folder)
  }
  const ended = Progress.ended(folder)
  const waves = wavesOf(
    all.filter(({ name }) => !ended.has(name)),
    options.jobs,
  )
  for (const wave of waves) {
    const waiting = [...wave]
    const worker = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run(next)
    }
    await Promise.all(Array.from({ length: options.jobs }, worker))
    // Item 1.9 looks for a usable GPU; without one no later section can run.
    if (outcomesOf(folder, 'checklist').some(({ id, verdict }) => id === '1.9' && verdict === 'fail')) break
  }
  holder.kill('SIGKILL')
  torch?.process.kill('SIGKILL')
  rmSync(cache, { recursive: true, force: true })
  console.log(`Report: ${writeReport(folder, folder)}`)
  return failed === 0 ? 0 : 1
}

/** The sections of these names, or all if there are none. Throws RangeError for a name that no section has. */
export function chosenSections(all: readonly Section[], only: readonly string[]): readonly Section[] {
  const unknown = only.filter((each) => !all.some(({ name }) => name === each))
  if (unknown.length > 0) {
    const names = all.map(({ name }) => name).join(', ')
    throw new RangeError(`Cannot run ${unknown.join(', ')} as --only must name sections: ${names}`)
  }
  return all.filter(({ name }) => only.length === 0 || only.includes(name))
}

/** Sections that run side by side: the first alone, as it looks for the GPU, then those that share it, then the others. */
export function wavesOf(all: readonly Section[], jobs: number): readonly (readonly Section[])[] {
  if (jobs === 1) return all.map((section) => [section])
  const alone = all.filter(({ isAlone }) => isAlone).map((section) => [section])
  const shared = all.filter(({ isAlone }) => !isAlone)
  return all[0]?.isAlone ? [...alone.slice(0, 1), shared, ...alone.slice(1)] : [shared, ...alone]
}

/** A process that holds a context of the device: without one the driver starts the device again for each section. */
function holdContext(options: RunOptions, cache: string): ChildProcess {
  const args = [process.argv[1], options.folder, '--hold', '--python', 'none']
  return spawn(process.execPath, args, { env: environment(options, cache), stdio: ['pipe', 'ignore', 'ignore'] })
}

function environment({ wheels }: RunOptions, cache: string, extra: Section['env'] = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { CUDNN_RNN_CACHE_DIR: cache, ...process.env, ...extra }
  if (wheels !== undefined) env['CUDNN_RNN_LIBRARY_DIR'] ??= wheels
  return env
}

/** Runs one section until a time of performance.now(), again if its process ended early; resolves with its failures. */
async function runSection(options: RunOptions, section: Section, until: number, cache: string): Promise<number> {
  const { folder } = options
  const { name, file } = section
  const madeSoFar = () => outcomesOf(folder, file).filter((outcome) => outcome.section === name)
  const before = madeSoFar().length
  const report = (outcome: Outcome) => appendLine(join(folder, `${file}.jsonl`), { section: name, ...outcome })
  const began = performance.now()
  for (let attempt = 1; ; attempt++) {
    const seconds = Math.floor((until - performance.now()) / 1000)
    if (seconds < LEAST_SECONDS) {
      report(skipped(name, attempt === 1 ? 'the section' : 'the rest of the section', 'no time was left'))
      break
    }
    const begun = new Progress(folder, name).size
    const problem = await runProcess(options, section, seconds, cache)
    if (problem === undefined) break
    report(judged(name, `the process, attempt ${attempt}`, 'ends with status 0', problem, false))
    const hasAdvanced = new Progress(folder, name).size > begun
    if (!hasAdvanced || attempt === MOST_ATTEMPTS) {
      for (const item of new Progress(folder, name).interrupted) {
        report(judged(name, item, 'ends', 'the process ended in it', false))
      }
      report(skipped(name, 'the rest of the section', `given up after ${attempt} processes`))
      break
    }
  }
  const made = madeSoFar().slice(before)
  const count = (verdict: Outcome['verdict']) => made.filter((outcome) => outcome.verdict === verdict).length
  const counts = (['pass', 'fail', 'noted', 'skipped'] as const).map((verdict) => `${count(verdict)} ${verdict}`)
  console.log(`${name}: ${counts.join(', ')} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  for (const { what, measured } of made.filter(({ verdict }) => verdict === 'fail').slice(0, 5)) {
    console.log(`  fail: ${what}: ${JSON.stringify(measured).slice(0, 300)}`)
  }
  return count('fail')
}

/** Runs one process of a section; resolves with how it ended, if that was not with status 0. */
async function runProcess(
  options: RunOptions,
  { name, env }: Section,
  seconds: number,
  cache: string,
): Promise<object | undefined> {
  const { folder, isQuick, python } = options
  const program = process.argv[1]
  const args = ['--expose-gc', program, folder, '--section', name, '--seconds', String(seconds), '--python', python]
  const child = spawn(process.execPath, [...args, ...(isQuick ? ['--quick'] : [])], {
    env: environment(options, cache, env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [output, errors, isLate] = ['', '', false]
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const limit = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, seconds * 1000)
  const [status, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(limit)
  appendFileSync(join(folder, 'log.txt'), `== ${name}\n${output}${errors}`)
  if (status === 0 && signal === null) return undefined
  return { ended: isLate ? `no end within ${seconds} seconds` : (signal ?? status), stderr: errors.slice(-2000) }
}
