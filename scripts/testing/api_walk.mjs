// `npm run test:api`: calls everything that the published packages export with wrong arguments of every kind, and fails on
// an error without a code of docs/errors.md, on a promise that never settles, a call that never returns, a crash, and a
// refused call that changed the object it was made on. The packages must be built.
//   node scripts/testing/api_walk.mjs [--seed N] [--rounds N] [--part N] [--only TEXT] [--executors NAMES] [--jobs N]
// By default on reference and cpu; `--executors cudnn` walks the cudnn executor over the CUDA emulator.
// Functions, constructors and methods come from the declaration files that are published (public_api.mjs), and from the voice
// server of the examples. Each parameter gets every wrong value (wrong_values.mjs), with `--part` one of so many, beside arguments
// that fit (fitting_arguments.mjs, else typed_values.mjs and subjects.mjs); and, `rounds` times, a wrong value takes the place
// of a field somewhere inside an argument that fits.
// Child processes make the calls (walk_calls.mjs); this one watches them.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { checkFacade, entryPoints, publicApi } from './api_walk/public_api.mjs'
import { LEFT_OUT, ON_EVERY_EXECUTOR, ON_ONE_EXECUTOR, REFUSED_WHOLE } from './api_walk/scope.mjs'
import { createSubjects } from './api_walk/subjects.mjs'
import { bundleProgram } from './bundle_program.mjs'
import { errorRows } from '../checks/error_codes.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    part: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    executors: { type: 'string', default: 'reference,cpu' },
    jobs: { type: 'string', default: String(Math.min(2, availableParallelism())) },
  },
})
/** A process whose call in progress stays the same for so long hangs. */
const SILENCE_MS = 30_000
/** Before its first call it opens an executor, which may build the CUDA emulator. */
const START_MS = 600_000
/** Callables of one process: enough for its start not to matter, few enough to fill all processors to the end. */
const CHUNK = 60

const started = Date.now()
ownTemporaryFolder()
const scratch = tmpdir()
const voiceServer = join(root, 'apps/examples/src/voice_server/voice_server.ts')
const bundled = join(scratch, 'voice_server.mjs')
await bundleProgram(voiceServer, bundled)
const entries = [{ name: 'voice-server', types: voiceServer, module: bundled }, ...entryPoints(root)]
const { callables, shapes } = await publicApi(entries, new Set(Object.keys(createSubjects({}, {}))))
const facadeFailures = await checkFacade(entries, new Set(callables.map(({ owner, name }) => owner ?? name)))
const codes = errorRows(root).map(({ code }) => code)
const idle = LEFT_OUT.filter(([pattern]) => callables.every(({ label }) => !pattern.test(label)))
const isLeftOut = ({ label }) => LEFT_OUT.some(([pattern]) => pattern.test(label))

const selected = callables.filter((callable) => !isLeftOut(callable) && callable.label.includes(options.only))
const jobs = options.executors.split(',').flatMap((executor) => {
  const own = selected.filter(({ owner, name }) => isWalkedOn(owner ?? name, executor))
  const chunks = []
  for (let from = 0; from < own.length; from += CHUNK)
    chunks.push({ executor, callables: own.slice(from, from + CHUNK) })
  return chunks
})

const records = []
const failures = [
  ...facadeFailures,
  ...idle.map(([pattern]) => `scope.mjs leaves out ${pattern}, which nothing exports`),
]
const skipped = new Set()
const waiting = [...jobs.entries()]
await Promise.all(
  Array.from({ length: Number(options.jobs) }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await walk(...next)
  }),
)
report()

function isWalkedOn(name, executor) {
  const only = ON_ONE_EXECUTOR.get(name)
  if (only !== undefined) return only === executor
  return executor === 'reference' || ON_EVERY_EXECUTOR.has(name)
}

/** Walks the callables of one job; after a hang or a crash, the rest in a new process. */
async function walk(number, { executor, callables }) {
  let left = callables
  for (let attempt = 0; left.length > 0; attempt++) {
    const folder = join(scratch, `${number}-${attempt}`)
    mkdirSync(folder)
    const done = []
    const ending = await runProcess(folder, executor, left, (record) => {
      done.push(record)
      records.push({ ...record, executor })
    })
    if (ending === undefined) return
    if (ending.unavailable) {
      skipped.add(ending.unavailable)
      return
    }
    const isAtACall = ending.current !== ''
    failures.push(
      `${ending.how}: ${isAtACall ? ending.current : 'before the first call'} [${executor}]${ending.stderr}`,
    )
    if (!isAtACall) return
    left = left.slice(done.length + 1)
  }
}

/** Resolves to undefined, or to how the process ended before it was done. */
function runProcess(folder, executor, callables, onRecord) {
  const plan = join(folder, 'plan.json')
  const current = join(folder, 'current')
  const entriesOfPackages = entries.map(({ name, module }) => ({ name, module }))
  const { seed, rounds, part } = options
  writeFileSync(
    plan,
    JSON.stringify({
      ...{ root, current, executor, callables, shapes, codes, entries: entriesOfPackages },
      fixtures: join(root, 'fixtures'),
      ...{ seed: Number(seed), rounds: Number(rounds), part: Number(part) },
    }),
  )
  const script = fileURLToPath(new URL('api_walk/walk_calls.mjs', import.meta.url))
  const child = spawn(process.execPath, ['--no-warnings', script, plan], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (bytes) => {
    stderr = (stderr + bytes).slice(-4000)
  })
  const records = createInterface({ input: child.stdout })
  records.on('line', (line) => onRecord(JSON.parse(line)))
  const inProgress = () => {
    try {
      return readFileSync(current, 'utf8').split('\n')[0]
    } catch {
      return ''
    }
  }
  let last = { text: '', since: Date.now() }
  let hangs = false
  const watch = setInterval(() => {
    const text = inProgress()
    if (text !== last.text) last = { text, since: Date.now() }
    if (Date.now() - last.since < (text === '' ? START_MS : SILENCE_MS)) return
    hangs = true
    child.kill('SIGKILL')
  }, 1000)
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearInterval(watch)
      if (code === 0) resolve(undefined)
      else if (code === 3) resolve({ unavailable: stderr.trim() })
      else {
        const how = hangs ? 'Hangs' : `Ends its process (${signal ?? code})`
        resolve({
          how,
          current: inProgress(),
          stderr: stderr === '' ? '' : `\n    ${stderr.trim().replaceAll('\n', '\n    ')}`,
        })
      }
    })
  })
}

function report() {
  const kinds = new Map()
  for (const { label, failures: found, executor } of records) {
    for (const { what, count, example } of found) {
      const key = `${label}: ${what}`
      const kind = kinds.get(key) ?? { count: 0, example, executors: new Set() }
      kinds.set(key, kind)
      kind.count += count
      kind.executors.add(executor)
    }
  }
  for (const [kind, { count, example, executors }] of kinds) {
    console.error(`${kind} [${[...executors].join(', ')}]\n    ${count} times, first with ${example}`)
  }
  for (const failure of failures) console.error(failure)
  const unfit = records.filter(
    ({ label, unfit }) => unfit !== undefined && !unfit.includes(` ${REFUSED_WHOLE.get(label)}: `),
  )
  for (const { label, unfit: why, executor } of unfit) console.error(`No arguments fit ${label} [${executor}]: ${why}`)
  const packages = Map.groupBy?.(records, ({ label }) => label.split(/[:/]/)[0]) ?? grouped(records)
  for (const [name, own] of [...packages].sort()) {
    const sum = (field) => own.reduce((total, record) => total + record[field], 0)
    const uncoded = [...kinds.keys()].filter((kind) => kind.split(/[:/]/)[0] === name).length
    console.log(
      `${name.padEnd(14)} ${String(new Set(own.map(({ label }) => label)).size).padStart(4)} callables ${String(sum('calls')).padStart(7)} calls ${String(sum('errors')).padStart(7)} refused ${String(uncoded).padStart(4)} kinds of failure`,
    )
  }
  for (const why of skipped) console.log(`Skipped: ${why}`)
  const calls = records.reduce((total, record) => total + record.calls, 0)
  const seconds = Math.round((Date.now() - started) / 1000)
  const all = kinds.size + failures.length + unfit.length
  console.log(
    `API walk: ${new Set(records.map(({ label }) => label)).size} callables, ${calls} calls in ${seconds} s; ${callables.filter(isLeftOut).length} left out by ${LEFT_OUT.length} rules; ${all} failures`,
  )
  process.exitCode = all === 0 ? 0 : 1
}

function grouped(records) {
  const groups = new Map()
  for (const record of records) {
    const name = record.label.split(/[:/]/)[0]
    groups.set(name, [...(groups.get(name) ?? []), record])
  }
  return groups
}
