import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { collectGarbage } from '@cudnn-rnn/conformance/collect_garbage'
import { describe, expect, it } from 'vitest'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

/** 400 in every test run; `npm run test:soak` sets 10,000. */
const LIVES = Number(process.env['CUDNN_RNN_SOAK_CYCLES'] ?? 400)
const addonFile = fileURLToPath(new URL('addon_alone.mjs', import.meta.url))
const skipped = instructionSetsUnderTest('lifetimes').length === 0

describe.skipIf(skipped)('the executor', () => {
  it(`gives everything back over ${LIVES} lives`, async () => {
    const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 24, inputSize: 8, dropout: 0.5 })
    let lives = 0
    const live = async () => {
      const backend = openCpuBackend({ threads: 2 })
      const rnn = backend.rnn(descriptor)
      const params = backend.zeros([rnn.paramsSize])
      const pass = { inputH: null, inputC: null, params, sequenceLengths: [3, 5], training: true }
      const { tape, output } = await rnn.forward({ input: backend.zeros([5, 2, 8]), ...pass })
      await rnn.backward(tape!, { output })
      // Every other life ends while its work is in flight.
      if (lives++ % 2 === 0) await output.read()
      backend.dispose()
      // Handles are closed by the event loop, which brief passes alone never turn.
      await new Promise((resolve) => setImmediate(resolve))
    }
    // The heap counts by its used part: V8 reserves more of it at will.
    const residentBytes = async () => {
      await collectGarbage()
      const { rss, heapTotal, heapUsed } = process.memoryUsage()
      return rss - heapTotal + heapUsed
    }
    const growthUntil = async (count: number) => {
      const before = await residentBytes()
      while (lives < count) await live()
      return (await residentBytes()) - before
    }
    // The heap grows to its working size first.
    const warmUp = Math.max(200, LIVES / 5)
    await growthUntil(warmUp)
    const growth = [await growthUntil(warmUp + LIVES / 2), await growthUntil(warmUp + LIVES)]
    // A leak grows in both halves, the allocator's pools in one. A tape of this network has 50 KiB, a thread's stack
    // 8 MiB of addresses. The limit is 40 KiB per life for 400 lives and 1.6 KiB for 10,000.
    expect(Math.min(...growth)).toBeLessThan(8 * 2 ** 20)
  }, 300_000)

  it('rejects pending operations when it is disposed', async () => {
    const backend = openCpuBackend()
    const rnn = backend.rnn(
      createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 256, inputSize: 256, inputMode: 'linear_input' }),
    )
    const params = backend.zeros([rnn.paramsSize])
    const pass = { inputH: null, inputC: null, params, sequenceLengths: null, training: false }
    const input = backend.zeros([500, 16, 256])
    const results = await Promise.all(Array.from({ length: 4 }, () => rnn.forward({ input, ...pass })))
    const reads = results.map(({ output }) => output.read().catch((error: unknown) => error))
    backend.dispose()
    expect(await reads[3]).toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
  })

  it('does not block the event loop', async () => {
    using backend = openCpuBackend()
    const rnn = backend.rnn(
      createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 256, inputSize: 256, inputMode: 'linear_input' }),
    )
    const params = backend.zeros([rnn.paramsSize])
    const pass = { inputH: null, inputC: null, params, sequenceLengths: null, training: false }
    const { output } = await rnn.forward({ input: backend.zeros([8000, 4, 256]), ...pass })
    let turns = 0
    let done = false
    const read = output.read().then(() => {
      done = true
    })
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve))
      turns++
    }
    await read
    // A read that blocks leaves one turn; more than a few are not sure on a machine that others load.
    expect(turns).toBeGreaterThan(2)
  })

  it.each(['in flight', 'awaited'])('lets the process exit with work %s', (how) => {
    const { status, signal, stdout } = spawnSync(process.execPath, [addonFile, how], {
      encoding: 'utf8',
      timeout: 100_000,
      killSignal: 'SIGKILL',
    })
    expect({ status, signal, stdout }).toEqual({ status: 0, signal: null, stdout: how === 'awaited' ? 'done\n' : '' })
  })

  it('runs in several worker threads at once, and ends with them', async () => {
    const exits = Array.from({ length: 4 }, (_, index) => {
      const worker = new Worker(addonFile, { argv: [index % 2 ? 'awaited' : 'in flight'], stdout: true })
      return new Promise((resolve) => worker.on('exit', resolve))
    })
    expect(await Promise.all(exits)).toEqual([0, 0, 0, 0])
  })
})
