// Run by scripts/bench/measure_cudnn_calls.mjs.
import { createRequire } from 'node:module'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { MODE } from '@cudnn-rnn/cudnn/validation'
import { characterModel } from '../character_model.js'

const ROUNDS = 100
const CALLS = 100
const WARM_UP = 3000

const addon = createRequire(import.meta.url)(process.env['CUDNN_RNN_CUDNN_ADDON']!)
const backend = await openCudnnBackend({ algorithm: 'standard', graphs: true })
const { inference, step, count } = characterModel(backend)

async function cost(call: () => Promise<void>): Promise<number> {
  for (let n = 0; n < WARM_UP; n++) await call()
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    for (let n = 0; n < CALLS; n++) await call()
    best = Math.min(best, performance.now() - began)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return (1000 * best) / CALLS
}

const settled = Promise.resolve(new Float64Array(1))
const { submit } = addon
const promises = (message: Float64Array) => (message[0] & MODE.promise) !== 0

/**
 * The median time that the addon takes to queue the submission of a call. An exclusive section keeps the worker from
 * running it meanwhile: on few processors the worker would preempt JavaScript's thread.
 */
async function crossing(call: () => Promise<void>): Promise<number> {
  const times: number[] = []
  const ended: Promise<unknown>[] = []
  let session: unknown
  let spent = 0
  addon.submit = (...given: unknown[]) => {
    const began = performance.now()
    const done = submit(...given)
    spent += performance.now() - began
    session = given[0]
    if (!promises(given[1] as Float64Array)) return undefined
    ended.push(done)
    return settled
  }
  await call()
  const signal = (mode: number) => submit(session, Float64Array.of(mode, 0, 0, 0, 0, 0, 0), 7)
  await signal(MODE.beginExclusive | MODE.promise)
  for (let n = 0; n < CALLS; n++) {
    // The worker falls asleep, and is woken by the next call.
    await new Promise((resolve) => setImmediate(resolve))
    spent = 0
    await call()
    times.push(spent)
  }
  addon.submit = submit
  await signal(MODE.exclusive | MODE.endExclusive | MODE.promise)
  await Promise.all(ended)
  return 1000 * times.sort((a, b) => a - b)[CALLS / 2]
}

const calls = { inference, 'character step': step }
const crossings: Record<string, number> = {}
for (const [name, call] of Object.entries(calls)) {
  for (let n = 0; n < CALLS; n++) await call()
  crossings[name] = await crossing(call)
}
await count.read()
for (const [name, call] of Object.entries(calls)) {
  const words: number[] = []
  addon.submit = (_session: unknown, message: Float64Array) => {
    words.push(message[3])
    return promises(message) ? settled : undefined
  }
  await call()
  const submitted = words.join(' and ')
  addon.submit = (_session: unknown, message: Float64Array) => (promises(message) ? settled : undefined)
  const own = await cost(call)
  const [all, part] = [own + crossings[name], crossings[name]].map((time) => time.toFixed(1))
  console.log(`a replayed ${name}: ${all} µs, of which the addon takes ${part} (${submitted} words)`)
}
addon.submit = submit
await backend.close()
