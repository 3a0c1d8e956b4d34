import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judged, type Outcome, skipped } from './outcome.js'
import { writeReport } from './report.js'
import { outcomesOf } from './result_files.js'
import type { RunOptions } from './run_options.js'
import { type Section, sections } from './sections.js'

/** Seconds that are kept for the last section, the times. */
const KEPT_FOR_TIMING = 200

/** Runs every section in a process of its own. Returns the exit status: 1 where anything failed. */
export function runAll(options: RunOptions): number {
  const { folder, python, limit, only } = options
  mkdirSync(folder, { recursive: true })
  const all = sections(python).filter(({ name }) => only.length === 0 || only.includes(name))
  if (only.length === 0) {
    for (const file of new Set(all.map((section) => section.file))) writeFileSync(join(folder, `${file}.jsonl`), '')
  }
  const cache = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
  const began = performance.now()
  let failed = 0
  for (const section of all) {
    const left = limit === 0 ? Number.POSITIVE_INFINITY : limit - (performance.now() - began) / 1000
    const kept = section.file === 'timing' || only.length > 0 ? 5 : Math.min(KEPT_FOR_TIMING, limit / 3)
    const seconds = Math.floor(Math.min(section.seconds, left - kept))
    failed += seconds < 5 ? skip(folder, section) : run(options, section, seconds, cache)
    // Nothing of what follows could be asked.
    if (outcomesOf(folder, 'checklist').some(({ id, verdict }) => id === '1.9' && verdict === 'fail')) break
  }
  rmSync(cache, { recursive: true, force: true })
  console.log(`Report: ${writeReport(folder, folder)}`)
  return failed === 0 ? 0 : 1
}

function skip(folder: string, { name, file }: Section): 0 {
  const outcome = skipped(name, 'the section', 'no time was left: run it with --only')
  appendFileSync(join(folder, `${file}.jsonl`), `${JSON.stringify({ section: name, ...outcome })}\n`)
  console.log(`${name}: skipped, as no time was left`)
  return 0
}

/** Runs one section; returns how many of its outcomes failed. */
function run(options: RunOptions, section: Section, seconds: number, cache: string): number {
  const { folder, isQuick, python, wheels } = options
  const { name, file } = section
  const before = outcomesOf(folder, file).length
  const began = performance.now()
  const env: NodeJS.ProcessEnv = { CUDNN_RNN_CACHE_DIR: cache, ...process.env, ...section.env }
  if (wheels !== undefined) env['CUDNN_RNN_LIBRARY_DIR'] ??= wheels
  const program = process.argv[1]!
  const args = ['--expose-gc', program, folder, '--section', name, '--seconds', String(seconds), '--python', python]
  const { status, signal, error, stdout, stderr } = spawnSync(
    process.execPath,
    [...args, ...(isQuick ? ['--quick'] : [])],
    {
      env,
      encoding: 'utf8',
      timeout: seconds * 1000,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 2 ** 20,
    },
  )
  if (status !== 0 || signal !== null) {
    const ended = error?.message.includes('ETIMEDOUT') ? `no end within ${seconds} seconds` : (signal ?? status)
    const measured = { ended, stderr: stderr.slice(-2000) }
    const outcome = judged(name, 'the process', 'ends with status 0', measured, false)
    appendFileSync(join(folder, `${file}.jsonl`), `${JSON.stringify({ section: name, ...outcome })}\n`)
  }
  appendFileSync(join(folder, 'log.txt'), `== ${name}\n${stdout}${stderr}`)
  const made = outcomesOf(folder, file).slice(before)
  const count = (verdict: Outcome['verdict']) => made.filter((outcome) => outcome.verdict === verdict).length
  const counts = (['pass', 'fail', 'noted', 'skipped'] as const).map((verdict) => `${count(verdict)} ${verdict}`)
  console.log(`${name}: ${counts.join(', ')} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  for (const { what, measured } of made.filter(({ verdict }) => verdict === 'fail').slice(0, 5)) {
    console.log(`  fail: ${what}: ${JSON.stringify(measured).slice(0, 300)}`)
  }
  return count('fail')
}
