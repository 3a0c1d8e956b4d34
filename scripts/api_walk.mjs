// `pnpm test:api`: calls the exports of the published packages (scope.mjs) with wrong arguments of every kind, and fails on
// any error without a code of docs/errors.md. The packages must be built.
//   node scripts/api_walk.mjs [--seed N] [--rounds N] [--only TEXT]
// Functions, constructors and methods come from the built declaration files (public_api.mjs). Each parameter gets every
// wrong value (wrong_values.mjs) beside arguments that fit their types (typed_values.mjs, subjects.mjs); and, `rounds`
// times, a wrong value takes the place of a field somewhere inside an argument that fits.
import { rmSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { entryPoints, publicApi } from './api_walk/public_api.mjs'
import { LEFT_OUT, NOT_YET, STRICT } from './api_walk/scope.mjs'
import { createSubjects, scratchFolder } from './api_walk/subjects.mjs'
import { TypedValues } from './api_walk/typed_values.mjs'
import { CallersOwnError, WRONG_VALUES } from './api_walk/wrong_values.mjs'
import { errorCodes } from './error_codes.mjs'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')
const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    trace: { type: 'boolean', default: false },
  },
})
/** A call that takes longer hangs. */
const PATIENCE_MS = 20_000

const known = new Set((await errorCodes(root)).keys())
const entries = entryPoints(root)
const { checker, callables } = publicApi(entries)
const api = {}
for (const { name, module } of entries) api[name] = await import(pathToFileURL(module).href)

const scratch = scratchFolder()
process.chdir(scratch)
const subjects = createSubjects(api)
const random = mulberry32(Number(options.seed))
const typed = new TypedValues(checker, subjects, random)

const failures = new Map()
const uncalled = new Set()
const walked = []
let calls = 0
let errors = 0
let current = ''
for (const event of ['unhandledRejection', 'uncaughtException']) {
  process.on(event, (error) => judge(error, `${current} (${event})`))
}

for (const callable of callables) {
  const label = `${callable.entry}: ${callable.kind === 'constructor' ? 'new ' : ''}${callable.owner ? `${callable.owner}.` : ''}${callable.name}`
  if (LEFT_OUT.has(label)) continue
  if (options.only === '' ? !STRICT.includes(callable.entry) : !label.includes(options.only)) continue
  walked.push(callable)
  if (options.trace) process.stderr.write(`${label}\n`)
  const parameters = callable.signature.getParameters()
  const fitting = async () => {
    const args = []
    for (const parameter of parameters) args.push(await typed.of(checker.getTypeOfSymbol(parameter)))
    return args
  }
  if ((await targetOf(callable)) === undefined) {
    uncalled.add(`${callable.entry}: ${callable.owner}`)
    continue
  }
  await call(callable, label, await fitting(), 'arguments that fit')
  for (let index = 0; index < parameters.length; index++) {
    for (const [wrong, make] of WRONG_VALUES) {
      const args = await fitting()
      args[index] = make()
      await call(callable, label, args, `${parameters[index].name} = ${wrong}`)
    }
  }
  for (let round = 0; round < Number(options.rounds) && parameters.length > 0; round++) {
    const args = await fitting()
    const [wrong, make] = WRONG_VALUES[Math.floor(random() * WRONG_VALUES.length)]
    const path = replaceSomewhere(args, make())
    await call(callable, label, args, `${path} = ${wrong}`)
  }
}
await new Promise((resolve) => setTimeout(resolve, 50))
process.chdir(root)
rmSync(scratch, { recursive: true, force: true })

for (const [failure, { count, example }] of failures)
  console.error(`${failure}\n    ${count} times, first with ${example}`)
const count = (kind) => walked.filter((callable) => callable.kind === kind).length
const numbers = ['function', 'constructor', 'static', 'method'].map((kind) => `${count(kind)} ${kind}s`)
console.log(`API walk: ${numbers.join(', ')}; ${calls} calls, ${errors} errors, ${failures.size} kinds without a code`)
if (options.only === '') console.log(`Walked: ${STRICT.join(', ')}. Not yet: ${NOT_YET.join(', ')}`)
if (uncalled.size > 0) console.log(`No instance of: ${[...uncalled].join(', ')}`)
process.exit(failures.size === 0 ? 0 : 1)

/** The receiver of a method; undefined without an instance of its owner. */
async function targetOf({ kind, entry, owner, name }) {
  const module = api[entry]
  if (kind === 'function') return { call: (args) => module[name](...args) }
  if (kind === 'constructor') return { call: (args) => new module[name](...args) }
  if (kind === 'static') return { call: (args) => module[owner][name](...args) }
  if (!Object.hasOwn(subjects, owner)) return undefined
  const instance = await subjects[owner]()
  if (typeof instance?.[name] !== 'function') return { call: () => undefined }
  return { call: (args) => instance[name](...args) }
}

async function call(callable, label, args, change) {
  current = `${label} with ${change}`
  if (options.trace) process.stderr.write(`  ${change}\n`)
  calls++
  const { call: run } = await targetOf(callable)
  let timer
  const patience = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('hangs'), { hangs: true })), PATIENCE_MS)
  })
  try {
    await Promise.race([consume(run(args)), patience])
  } catch (error) {
    judge(error, current)
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for a result, and starts lazy reads. */
async function consume(result) {
  const value = await result
  if (typeof value !== 'object' || value === null) return
  const iterator = value[Symbol.asyncIterator]?.()
  if (iterator === undefined) return
  await iterator.next()
  await iterator.return?.()
}

function judge(error, at) {
  errors++
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof CallersOwnError) return
  if (error instanceof Error && known.has(error.code)) return
  const code = error instanceof Error ? (error.code ?? error.name) : typeof error
  const text = error instanceof Error ? error.message.split('\n')[0].slice(0, 140) : String(error)
  const frame = /\(?(?:file:\/\/)?([^\s()]+dist[^\s()]+)\)?/.exec(error?.stack ?? '')?.[1]?.replace(root, '') ?? ''
  const [label] = at.split(' with ')
  const key = `${label}: ${code}: ${text.replaceAll(/\d+/g, 'N')} ${frame}`
  const failure = failures.get(key)
  if (failure === undefined) failures.set(key, { count: 1, example: at.slice(label.length + 6) })
  else failure.count++
}

/** Puts `wrong` in the place of one value inside `args`; returns where. */
function replaceSomewhere(args, wrong) {
  let holder = args
  let path = 'argument'
  for (let depth = 0; depth < 5; depth++) {
    const keys = Object.keys(holder)
    const key = keys[Math.floor(random() * keys.length)]
    path += `.${key}`
    const inside = holder[key]
    const canEnter = typeof inside === 'object' && inside !== null && !ArrayBuffer.isView(inside) && isPlain(inside)
    if (canEnter && Object.keys(inside).length > 0 && random() < 0.7) {
      holder = inside
      continue
    }
    holder[key] = wrong
    return path
  }
  return path
}

function isPlain(value) {
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === Array.prototype) && !Object.isFrozen(value)
}

function mulberry32(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
