// Builds files and reads them: node packages/fuzzing/run.mjs <grammars.ts> [files] [seed] [first file]
//   --log <file>   appends a line of JSON for every part that is done; the next run with this log, seed and module continues
//                  after it, and --sum adds the lines up
// The module of grammars exports GRAMMARS and isCoded. A child process does each part, so that a hang is detected
// and parts do not share memory. A file that breaks a rule is reported with its seed and number; the
// run continues after it and ends with exit status 1.
import { fork } from 'node:child_process'
import { appendFileSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import ownTemporaryFolder from '../../scripts/temporary_folder.mjs'
import { addCounts, noCounts } from './fuzz_counts.mjs'

const LONGEST_SILENCE_MS = Number(process.env.CUDNN_RNN_FUZZ_SILENCE_MS ?? 120_000)
const FILES_PER_PART = 10_000
const here = fileURLToPath(new URL('.', import.meta.url))

if (process.send === undefined) await watchFuzzing()
else await runPart()

async function watchFuzzing() {
  ownTemporaryFolder()
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { log: { type: 'string' }, sum: { type: 'boolean', default: false } },
  })
  const [module, files = '100000', seed = '1', given = '0'] = positionals
  const { log, sum } = values
  const grammars = basename(module, '.ts')
  const done = log === undefined ? [] : linesOf(log).filter((line) => line.grammars === grammars)
  if (sum) {
    console.log(JSON.stringify(done.reduce(addCounts, noCounts()), undefined, 2))
    return
  }
  const first = Math.max(
    Number(given),
    ...done.filter((line) => line.seed === Number(seed)).map((line) => line.first + line.files),
  )
  const end = first + Number(files)
  const began = performance.now()
  let total = noCounts()
  // Beside the installed packages that the grammars' own package depends on.
  const folder = await mkdtemp(join(resolve(module, '../../node_modules'), '.fuzz-'))
  try {
    await bundle(resolve(module), folder)
    for (let next = first; next < end; ) {
      const part = await partOf(join(folder, 'fuzz.js'), Math.min(FILES_PER_PART, end - next), Number(seed), next)
      total = addCounts(total, part)
      if (log !== undefined)
        appendFileSync(log, `${JSON.stringify({ grammars, seed: Number(seed), first: next, ...part })}\n`)
      next += part.files
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  console.log(JSON.stringify(total, undefined, 2))
  const seconds = Math.round((performance.now() - began) / 1000)
  const { length } = total.failures
  console.log(`${total.files} files, seed ${seed}, ${seconds} s: ${length === 0 ? 'none' : length} broke a rule`)
  process.exitCode = length === 0 ? 0 : 1
}

function linesOf(log) {
  if (!existsSync(log)) return []
  const complete = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return complete.map((line) => JSON.parse(line))
}

/** The counts of files from `first` on: all of the part, or up to the one that broke a rule. */
async function partOf(program, files, seed, first) {
  const progress = join(program, '../progress')
  writeFileSync(progress, String(first))
  const child = fork(fileURLToPath(import.meta.url), [program, progress, files, seed, first].map(String), {
    execArgv: ['--expose-gc'],
  })
  let counts
  let rule
  child.on('message', (message) => {
    counts = message.counts
    rule = message.rule
  })
  let [current, since] = [first, performance.now()]
  const timer = setInterval(() => {
    const now = Number(readFileSync(progress, 'utf8'))
    if (now !== current) [current, since] = [now, performance.now()]
    else if (performance.now() - since > LONGEST_SILENCE_MS) {
      rule = `seed ${seed}, file ${current}: hangs`
      child.kill('SIGKILL')
    }
  }, 1000)
  const [code, signal] = await new Promise((done) => child.on('exit', (...end) => done(end)))
  clearInterval(timer)
  if (counts !== undefined) return { ...counts, failures: [] }
  current = Number(readFileSync(progress, 'utf8'))
  rule ??= `seed ${seed}, file ${current}: ends the process with ${signal ?? code}`
  console.error(rule)
  return { ...noCounts(), files: current + 1 - first, failures: [rule] }
}

async function bundle(entry, outdir) {
  // Loaded here: a process that does a part bundles nothing.
  const { bundleProgram } = await import('../../scripts/testing/bundle_program.mjs')
  const external = ['h5wasm', '@node-rs/crc32']
  const contents = `export * from ${JSON.stringify(entry)}\nexport { fuzzFiles } from '@cudnn-rnn/fuzzing'`
  await bundleProgram({ contents, resolveDir: here }, join(outdir, 'fuzz.js'), { external })
  // The thread that reads HDF5 is a program beside the package that starts it.
  const thread = join(entry, '../../src/files/hdf5_worker.ts')
  if (existsSync(thread)) await bundleProgram(thread, join(outdir, 'hdf5_worker.js'), { external })
}

async function runPart() {
  const [program, progress, files, seed, first] = process.argv.slice(2)
  const { GRAMMARS, SHARES, isCoded, fuzzFiles } = await import(pathToFileURL(program).href)
  const descriptor = openSync(progress, 'r+')
  const onFile = (file) => {
    // Numbers of files grow, so that none leaves a digit of the one before.
    writeSync(descriptor, String(file), 0)
    // Garbage must not count as memory of the next file.
    if (file % 256 === 0) globalThis.gc()
  }
  const range = { files: Number(files), seed: Number(seed), first: Number(first) }
  const result = await fuzzFiles({ grammars: GRAMMARS, shares: SHARES, isCoded, onFile, ...range }).then(
    (counts) => ({ counts }),
    (error) => {
      console.error(error)
      return { rule: error.message }
    },
  )
  process.send(result, () => process.exit())
}
