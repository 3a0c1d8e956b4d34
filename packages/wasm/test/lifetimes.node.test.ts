import * as threads from 'node:worker_threads'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { filled } from '@cudnn-rnn/conformance'
import { collectGarbage } from '@cudnn-rnn/conformance/collect_garbage'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openWasmBackend } from '../src/index.js'

/** 10 and 100 in every test run; `npm run test:soak` sets 10,000, of which a tenth starts threads. */
const cycles = process.env['CUDNN_RNN_SOAK_CYCLES']
const LIVES = cycles === undefined ? 10 : Number(cycles) / 10
const PASSES = cycles === undefined ? 100 : Number(cycles)

const { Memory } = WebAssembly
let started = 0
let ended = 0
let memory: WebAssembly.Memory | undefined

beforeEach(() => {
  started = ended = 0
  class CountedWorker extends threads.Worker {
    constructor(...options: ConstructorParameters<typeof threads.Worker>) {
      super(...options)
      started++
      this.once('exit', () => ended++)
    }
  }
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(((name: string) =>
    name === 'node:worker_threads' ? { ...threads, Worker: CountedWorker } : undefined) as never)
  class SeenMemory extends Memory {
    constructor(descriptor: WebAssembly.MemoryDescriptor) {
      super(descriptor)
      memory = this
    }
  }
  WebAssembly.Memory = SeenMemory
})
afterEach(() => {
  vi.restoreAllMocks()
  WebAssembly.Memory = Memory
})

const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 64, inputSize: 16, dropout: 0.5 })
const pass = { inputH: null, inputC: null, sequenceLengths: [3, 12], training: true }
const input = filled('x', [12, 2, 16], 'float32')

it(`ends all threads of ${LIVES} lives`, { timeout: 60_000 + LIVES * 500 }, async () => {
  for (let life = 0; life < LIVES; life++) {
    using backend = await openWasmBackend({ threads: 3 })
    const rnn = backend.rnn(descriptor)
    const { tape, output } = await rnn.forward({ input, params: backend.zeros([rnn.paramsSize]), ...pass })
    // Every other life ends with a tape.
    if (life % 2 === 0) await rnn.backward(tape!, { output })
  }
  expect(started).toBe(2 * LIVES)
  await vi.waitFor(() => expect(ended).toBe(started), { timeout: 100_000 })
})

it('requests a memory again while disposed executors keep their address space, and throws if none is free', async () => {
  let refusals = 3
  class ScarceMemory extends Memory {
    constructor(wanted: WebAssembly.MemoryDescriptor) {
      if (refusals-- > 0) throw new RangeError('WebAssembly.Memory(): could not allocate memory')
      super(wanted)
    }
  }
  WebAssembly.Memory = ScarceMemory
  using backend = await openWasmBackend({ threads: 2 })
  expect(await backend.zeros([2]).data()).toEqual(new Float32Array(2))
  refusals = Number.MAX_SAFE_INTEGER
  await expect(openWasmBackend({ threads: 2 })).rejects.toThrow(/could not allocate memory/)
})

it('ends the threads of executors that were collected', async () => {
  const abandon = async () => {
    for (let life = 0; life < 4; life++) await openWasmBackend({ threads: 2 })
  }
  await abandon()
  await vi.waitFor(
    async () => {
      await collectGarbage()
      expect(ended).toBeGreaterThan(0)
    },
    { timeout: 100_000 },
  )
})

it(`needs no more memory of the module after ${PASSES} passes and steps`, {
  timeout: 60_000 + PASSES * 50,
}, async () => {
  using backend = await openWasmBackend({ threads: 2 })
  const rnn = backend.rnn(descriptor)
  const params = backend.zeros([rnn.paramsSize])
  const stepper = rnn.stepper(params, 2)
  const train = async (count: number) => {
    for (let k = 0; k < count; k++) {
      const { tape, output } = await rnn.forward({ input, params, ...pass })
      const gradients = await rnn.backward(tape!, { output })
      backend.ops.accumulate(params, gradients.params, -0.01)
      stepper.stepSync(input)
    }
  }
  await train(20)
  const bytes = memory!.buffer.byteLength
  await train(PASSES)
  // Threads allocate at the same time in one pass and one after another in the next. A tape has 100 KiB.
  expect(memory!.buffer.byteLength - bytes).toBeLessThanOrEqual(2 ** 20)
})
