// Run by scripts/bench/measure_cudnn_calls.mjs.
import { createRequire } from 'node:module'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { MODE } from '@cudnn-rnn/cudnn/validation'

const ROUNDS = 100
const CALLS = 100
const WARM_UP = 3000

const addon = createRequire(import.meta.url)(process.env['CUDNN_RNN_CUDNN_ADDON']!)
const backend = await openCudnnBackend({ algorithm: 'standard', graphs: true })
const { ops, steps } = backend
const [TIME, BATCH, VOCABULARY, COLUMNS, UNITS] = [4, 2, 7, 4, 8]
const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: UNITS, inputSize: COLUMNS }))
const shapes = [[VOCABULARY, COLUMNS], [rnn.paramsSize], [UNITS, VOCABULARY], [VOCABULARY]]
const variables = shapes.map((shape) => backend.zeros(shape))
const [table, params, kernel, bias] = variables as [(typeof variables)[0], ...typeof variables]
const moments = shapes.map((shape) => [backend.zeros(shape), backend.zeros(shape)] as const)
const ids = { data: new Int32Array(TIME * BATCH), shape: [TIME, BATCH] }
const count = backend.zeros([])
const one = backend.tensor({ data: Float32Array.of(1), shape: [] })
const input = backend.zeros([TIME, BATCH, COLUMNS])

async function inference(): Promise<void> {
  const { output, outputH, outputC } = await rnn.forward({
    ...{ input, inputH: null, inputC: null, params: params, sequenceLengths: null, training: false },
  })
  for (const tensor of [output, outputH, outputC]) tensor?.dispose()
}

/** One step of a character model, as `fit` queues it. */
async function step(): Promise<void> {
  await steps.run(async () => {
    const x = ops.embedding(table, ids)
    const states = { inputH: null, inputC: null, sequenceLengths: null }
    const run = await rnn.forward({ input: x, params: params, training: true, ...states })
    const logits = ops.linear(run.output, kernel, bias)
    const { loss, logitsGradient } = ops.softmaxCrossEntropy(logits, ids)
    const top = ops.linearGradients(run.output, kernel, logitsGradient)
    const bottom = await rnn.backward(run.tape!, { output: top.input })
    const gradients = [ops.embeddingGradient(VOCABULARY, ids, bottom.input), bottom.params, top.kernel, top.bias]
    const norm = ops.clipByGlobalNorm(gradients, 5)
    steps.whereFinite([loss, norm], () => {
      ops.accumulate(count, one)
      for (const [index, variable] of variables.entries()) {
        ops.update('adam', variable, moments[index], gradients[index], { learningRate: 1e-3, step: count })
      }
    })
    const made = [x, run.output, run.outputH, run.outputC, logits, loss, logitsGradient, norm, top.input, ...gradients]
    for (const tensor of [...made, bottom.input, bottom.inputH, bottom.inputC]) tensor?.dispose()
  })
}

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
