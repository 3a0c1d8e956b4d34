// Runs bundled test files in any JavaScript runtime:
//   RUNTIME run.js --root REPOSITORY --log FILE [--only PART of a file's name] [-t PATTERN of titles]
//     [--without JSON: by reason, a PATTERN of titles] [--patience FACTOR of timeouts]
// Tests that need a part of vitest which is not here, or a package of the machine, are skipped and printed.
// The log is a file, as Node.js ends with EBADF on wine's console. Its last line is "N passed, N failed, N skipped".
import { appendFileSync } from 'node:fs'
import { inspect, parseArgs } from 'node:util'
import { GLOBAL_EXPECT, setState } from '@vitest/expect'
import { startTests } from '@vitest/runner'
import files from 'bundled-tests'
import { NEW_STATE } from 'vitest'

const { values } = parseArgs({
  options: {
    root: { type: 'string' },
    log: { type: 'string' },
    only: { type: 'string', default: '' },
    pattern: { type: 'string', short: 't' },
    without: { type: 'string' },
    patience: { type: 'string', default: '1' },
  },
})
const timeout = 180_000 * Number(values.patience)
const say = (line) => (values.log === undefined ? console.log(line) : appendFileSync(values.log, `${line}\n`))
const counts = { passed: 0, failed: 0, skipped: 0 }
const countText = (before = { passed: 0, failed: 0, skipped: 0 }) =>
  Object.entries(counts)
    .map(([name, count]) => `${count - before[name]} ${name}`)
    .join(', ')
const title = (task) => (task.suite === undefined ? task.name : `${title(task.suite)} > ${task.name}`)

const without = Object.entries(JSON.parse(values.without ?? '{}')).map(([reason, part]) => [reason, new RegExp(part)])
/** Errors without vitest, a package of the machine or functions of Node.js since 20.11, and refusals of HDF5 on big-endian processors. */
const UNPORTABLE =
  /is not in the portable runner|^Cannot find package '|\.glob is not a function|'node:\w+' does not provide|processor is big-endian|onnxruntime_binding/

function skip(what, reason) {
  counts.skipped++
  say(`SKIPPED ${what}: ${reason}`)
}

/** The stack of a timeout has no message. */
const textOf = ({ message, stack = '' }) => (stack.includes(message) ? stack : `${message}\n${stack}`)

function fail(what, errors) {
  const reason = errors.map((error) => UNPORTABLE.exec(error?.message) && error.message.split('\n')[0])
  if (errors.length > 0 && reason.every(Boolean)) {
    skip(what, reason[0])
    return
  }
  counts.failed++
  say(`FAILED ${what}`)
  for (const error of errors)
    say(`  ${(typeof error?.message === 'string' ? textOf(error) : inspect(error)).slice(0, 2000)}`)
}

/** Errors of hooks and of collecting belong to no test. */
function failSuites(task) {
  if (task.type !== 'suite') return
  if (task.result?.errors?.length > 0) fail(title(task), task.result.errors)
  for (const each of task.tasks) failSuites(each)
}

function leaveOut(task) {
  if (task.type === 'suite') for (const each of task.tasks) leaveOut(each)
  else {
    const [named] = (task.mode === 'run' && without.find(([, pattern]) => pattern.test(title(task)))) || []
    if (named !== undefined) task.mode = 'skip'
    if (task.mode !== 'run') skip(`${task.file.filepath}: ${title(task)}`, named ?? 'on this system')
  }
}

const runner = {
  config: {
    ...{ root: values.root, setupFiles: [], passWithNoTests: true, maxConcurrency: 5, retry: 0, allowOnly: false },
    ...{ sequence: { hooks: 'stack', setupFiles: 'list', seed: 1 }, testTimeout: timeout, hookTimeout: timeout },
    ...{ includeTaskLocation: false, chaiConfig: {}, diffOptions: {}, tags: [], strictTags: false },
    testNamePattern: values.pattern === undefined ? undefined : new RegExp(values.pattern),
  },
  importFile: (name) => files[name](),
  onCollected: (all) => all.forEach(leaveOut),
  onBeforeTryTask(test) {
    setState({ ...NEW_STATE, currentTestName: title(test) }, globalThis[GLOBAL_EXPECT])
  },
  onAfterRunTask(task) {
    const state = task.result?.state
    if (state === 'fail') fail(`${task.file.filepath}: ${title(task)}`, task.result.errors ?? [])
    else if (state === 'pass') counts.passed++
    else skip(`${task.file.filepath}: ${title(task)}`, task.result?.note ?? 'on this system')
  },
}
process.on('unhandledRejection', (error) => fail('unhandled rejection', [error]))
// Neither the connections of a test nor the timeouts of tests keep the program alive.
const alive = setInterval(() => {}, 2 ** 30)

for (const name of Object.keys(files).filter((name) => name.includes(values.only))) {
  const before = { ...counts }
  const since = performance.now()
  try {
    const [file] = await startTests([{ filepath: name, testLocations: undefined }], runner)
    failSuites(file)
  } catch (error) {
    fail(name, [error])
  }
  say(`${name}: ${countText(before)}, ${((performance.now() - since) / 1000).toFixed(1)} s`)
}
say(countText())
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0
clearInterval(alive)
// Threads of a failed test would keep the program alive.
setTimeout(() => process.exit(), 2000).unref()
