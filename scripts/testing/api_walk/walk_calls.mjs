// The process that walks: calls the given callables with wrong arguments, and prints a line of JSON for each.
//   node walk_calls.mjs PLAN: a file of JSON (see walk_plan in api_walk.mjs)
// The call in progress is at the start of the file `current`, so that the parent process can name one that hangs or
// crashes.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Philox } from '../../../packages/rnn/dist/executors.js'
import { openExecutors } from './executors.mjs'
import { fittingArguments } from './fitting_arguments.mjs'
import { createSubjects } from './subjects.mjs'
import { TypedValues } from './typed_values.mjs'
import { CallersOwnError, CHANGING_VALUES, isPlain, WRONG_VALUES, wrongObjects } from './wrong_values.mjs'

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'))
/** A promise that takes longer hangs. */
const PATIENCE_MS = 10_000
/** Draws of arguments that fit, until one is accepted. */
const DRAWS = 6
/** The engine's words for arguments that throw whenever they are used. */
const BY_ENGINE =
  /^Class constructors? .*cannot be invoked without 'new'|on a proxy that has been revoked$|^Iterator result .* is not an object$/

const api = {}
for (const { name, module } of plan.entries) api[name] = await import(pathToFileURL(module).href)
const known = new Set(plan.codes)
const currentFile = openSync(plan.current, 'w')
const executors = await openExecutors(api, plan.executor).catch((error) => {
  // Executors that this machine lacks.
  process.stderr.write(error.message)
  process.exit(3)
})
const subjects = createSubjects(api, executors)
const random = uniformNumbers(plan.seed)
/** Restarted before each draw of arguments that fit, so that arguments accepted once are drawn again. */
let draws = uniformNumbers(plan.seed)
const typed = new TypedValues(plan.shapes, subjects, () => draws())
const overrides = fittingArguments(api, subjects, plan.fixtures)
const wrongValues = [...WRONG_VALUES, ...wrongObjects(api, subjects).map((entry) => [...entry, true])]

let current = ''
let record
// A caller can catch neither of these, with a code or without.
for (const event of ['unhandledRejection', 'uncaughtException']) {
  // But for a promise of the caller's own function that should have returned a value.
  process.on(event, (error) => {
    if (!(error instanceof Error && isCallersOwn(error)))
      fail(`${event}: ${shortened(error)}`, `${current}: ${error?.stack}`)
  })
}
const { exit } = process
process.exit = () => {
  throw Object.assign(new CallersOwnError('the process must not end'), { code: 'ERR_WALK_GOES_ON' })
}

try {
  await walkAll()
} catch (error) {
  process.stderr.write(String(error.stack))
  exit(1)
}
exit(0)

async function walkAll() {
  for (const [turn, callable] of plan.callables.entries()) {
    announce(`${callable.label} (before its first call)`)
    record = { label: callable.label, calls: 0, errors: 0, accepted: 0, failures: [], unfit: undefined }
    await walk(callable, turn)
    // Rejections that nothing awaits.
    await new Promise((resolve) => setImmediate(resolve))
    await executors.tidy()
    process.stdout.write(`${JSON.stringify(record)}\n`)
  }
}

async function walk(callable, turn) {
  const { parameters } = callable
  if ((await targetOf(callable)) === undefined) {
    record.unfit = 'there is no instance of it: subjects.mjs'
    return
  }
  const fits = await findFitting(callable)
  let target = await targetOf(callable)
  let refused = 0
  const callWith = async (args, change) => {
    const outcome = await call(callable, target, args, change)
    if (outcome === 'refused') refused++
    else {
      // An accepted call may have used the instance up.
      target = await targetOf(callable)
      refused = 0
    }
  }
  for (const [index, { name }] of parameters.entries()) {
    for (const [number, wrong] of wrongValues.entries()) {
      if ((number + index + turn) % plan.part > 0) continue
      const args = await fits.make()
      args.splice(index, 1, ...(await made(wrong)))
      await callWith(args, `${name} = ${wrong[0]}`)
    }
    for (const [number, [change, changed]] of CHANGING_VALUES.entries()) {
      if (name !== 'options' || (number + index + turn) % plan.part > 0) continue
      const args = await fits.make()
      if (!isPlain(args[index])) break
      args[index] = changed(args[index])
      await callWith(args, `${name} = ${change}`)
    }
    // The argument of the next position, as after an omitted argument.
    if (index + 1 < parameters.length) await callWith((await fits.make()).toSpliced(index, 1), `${name} left out`)
  }
  for (let round = 0; round < plan.rounds && parameters.length > 0; round++) {
    const args = await fits.make()
    const wrong = wrongValues[Math.floor(random() * wrongValues.length)]
    const path = replaceSomewhere(args, ...(await made(wrong)))
    await callWith(args, `${path} = ${wrong[0]}`)
  }
  if (callable.kind === 'method' && fits.accepted && refused > 0) {
    const outcome = await call(callable, target, await fits.make(), 'arguments that fit, after refused ones')
    if (outcome === 'refused') {
      fail('a refused call has changed the state: the arguments that were accepted are refused now', current)
    }
  }
}

/** Arguments that the callable accepts: from fitting_arguments.mjs, or the first draw from its types that is accepted. */
async function findFitting(callable) {
  const override = overrides[callable.label]
  const drawnFrom = (seed) => async () => {
    draws = uniformNumbers(seed)
    const args = []
    for (const { type } of callable.parameters) args.push(await typed.of(type))
    return args
  }
  for (let seed = 1; seed <= DRAWS; seed++) {
    const make = override ?? drawnFrom(seed)
    const outcome = await call(callable, await targetOf(callable), await make(), 'arguments that fit')
    if (outcome !== 'refused') return { make: async () => make(), accepted: true }
  }
  record.unfit = `its arguments are refused: ${record.lastError}`
  return { make: async () => (override ?? drawnFrom(1))(), accepted: false }
}

/** The wrong value in a list: awaited outside a list it could throw at `then`. Objects of the library may take time to make. */
async function made([, make, isAsync]) {
  return [isAsync ? await make() : make()]
}

/** The instance on which a callable is called; undefined if there is none of its owner. */
async function targetOf({ kind, entry, owner, name }) {
  const module = api[entry]
  if (kind === 'function') return (args) => module[name](...args)
  if (kind === 'constructor') return (args) => new module[name](...args)
  if (kind === 'static') return (args) => module[owner][name](...args)
  if (!Object.hasOwn(subjects, owner)) return undefined
  const instance = await subjects[owner]()
  // An optional method that this instance does not have.
  if (typeof instance?.[name] !== 'function') return () => undefined
  return (args) => instance[name](...args)
}

/** 'accepted', 'refused' (with an error of any kind) or 'hanging'. */
async function call(callable, target, args, change) {
  current = `${callable.label} with ${change}`
  record.calls++
  announce(current)
  let timer
  const patience = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hangs: not settled after ${PATIENCE_MS / 1000} s`)), PATIENCE_MS)
  })
  try {
    await Promise.race([consume(target(args)), patience])
    record.accepted++
    return 'accepted'
  } catch (error) {
    judge(error, current)
    return 'refused'
  } finally {
    clearTimeout(timer)
  }
}

function announce(text) {
  writeSync(currentFile, Buffer.from(`${text}\n`.padEnd(300)), 0, undefined, 0)
}

/** Waits for a result, and starts reading lazy ones. */
async function consume(result) {
  const value = await result
  if (typeof value !== 'object' || value === null) return
  const iterator = value[Symbol.asyncIterator]?.()
  if (iterator === undefined) return
  await iterator.next()
  await iterator.return?.()
}

function judge(error, at) {
  record.errors++
  record.lastError = error instanceof Error ? `${error.code}: ${error.message.slice(0, 200)}` : typeof error
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isCallersOwn(cause)) return
  if (error instanceof Error && known.has(error.code)) {
    // A message that quotes a value without a text form.
    if (/\[object \w+\]|\bundefined \(undefined\)/.test(error.message))
      fail(`${error.code} with an unreadable value: ${shortened(error)}`, at)
    return
  }
  const code = error instanceof Error ? (error.code ?? error.name) : typeof error
  // Errors of one place are one kind: their texts name values.
  const frame = /\(?(?:file:\/\/)?([^\s()]+dist[^\s()]+)\)?/.exec(error?.stack ?? '')?.[1]?.replace(plan.root, '') ?? ''
  fail(frame === '' ? `${code}: ${shortened(error)}` : `${code} at ${frame}`, `${at}: ${shortened(error)}`)
}

/** Thrown by the caller's arguments: getters, functions, revoked proxies, or a class called as a function. */
function isCallersOwn(error) {
  return error instanceof CallersOwnError || BY_ENGINE.test(error.message)
}

function shortened(error) {
  const text = error instanceof Error ? error.message.split('\n')[0].slice(0, 140) : typeof error
  return text.replaceAll(/\d+/g, 'N')
}

function fail(what, at) {
  const failure = record.failures.find((one) => one.what === what)
  if (failure === undefined) record.failures.push({ what, count: 1, example: at.slice(record.label.length + 6) })
  else failure.count++
}

/** Puts `wrong` in the place of one value inside `args`, or a getter that throws; returns where. */
function replaceSomewhere(args, wrong) {
  let holder = args
  let path = 'argument'
  for (let depth = 0; depth < 6; depth++) {
    const keys = Object.keys(holder)
    const key = keys[Math.floor(random() * keys.length)]
    path += `.${key}`
    const inside = holder[key]
    const canEnter = isPlain(inside)
    if (canEnter && Object.keys(inside).length > 0 && random() < 0.8) {
      holder = inside
      continue
    }
    holder[key] = wrong
    return path
  }
  return path
}

/** Uniform in [0, 1): the same numbers from the same seed. */
function uniformNumbers(seed) {
  const philox = new Philox(seed)
  return () => philox.uniform()
}
