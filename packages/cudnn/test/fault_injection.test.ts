import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { afterEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

/** Injected statuses by the prefix of the function's name; the first match applies. */
const STATUSES = [
  ['cudnn', 5000],
  ['cublas', 13],
  ['nvrtc', 6],
  ['cu', 1],
] as const

/**
 * Functions that free. If one of them fails, its object leaks by design; if the last wait for the stream fails, queued
 * frees may not have run yet.
 */
const GIVES_BACK = /Destroy|Free|Unload|StreamSynchronize|TrimTo/

describe.skipIf(gpu.problem !== undefined)(`every call that can fail (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  afterEach(() => libraries.configure('reset'))

  /** Opens an executor, trains with graphs, runs the trained network and closes; returns the outputs. */
  const life = async () => {
    await using backend = await open({ precision: 'float16', algorithm: 'standard', graphs: true })
    const shape = { numLayers: 2, numUnits: 4, inputSize: 3, dropout: 0.5, seed: 1 } as const
    using rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', ...shape }))
    const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.1), shape: [rnn.paramsSize] })
    const kernel = backend.tensor({ data: new Float32Array(4 * 2).fill(0.3), shape: [4, 2] })
    const input = { data: new Float32Array(3 * 2 * 3).fill(1), shape: [3, 2, 3] }
    const pass = { input, inputH: null, inputC: null, params, sequenceLengths: [3, 1] }
    for (let step = 0; step < 4; step++) {
      await backend.steps.run(async () => {
        const { output, tape } = await rnn.forward({ ...pass, training: true })
        const top = backend.ops.linearGradients(output, kernel, backend.ops.linear(output, kernel, backend.zeros([2])))
        const gradients = await rnn.backward(tape!, { output: top.input })
        backend.ops.clipByGlobalNorm([gradients.params], 1)
        backend.ops.update('sgd', params, [], gradients.params, { learningRate: 0.1 })
      })
    }
    rnn.restoreDropoutState(await rnn.dropoutState())
    const outputs: number[][] = []
    for (let n = 0; n < 4; n++) {
      const { output } = await rnn.forward({ ...pass, training: false })
      outputs.push(Array.from((await output.read()).data))
    }
    return outputs
  }

  it('rejects with a code or recovers, leaks nothing, and the next executor works', {
    timeout: 600_000,
  }, async () => {
    await life()
    libraries.configure('reset')
    const expected = await life()
    const calls = Object.entries(libraries.report().calls)
    const told = new Set<string>()
    const problems: string[] = []
    for (const [symbol, count] of calls) {
      const status = STATUSES.find(([prefix]) => symbol.startsWith(prefix))?.[1]
      if (status === undefined) continue
      for (const at of new Set([1, count])) {
        libraries.configure('reset')
        libraries.configure(`fault.${symbol}=${status}@${at}`)
        const before = libraries.report().live
        const outcome = await life().catch((error: unknown) => error)
        const what = `${symbol}, call ${at} of ${count}`
        for (const violation of libraries.report().violations) problems.push(`${what}: ${violation}`)
        libraries.configure('reset')
        if (outcome instanceof Error) {
          const code = String('code' in outcome ? outcome.code : outcome)
          told.add(code)
          if (!code.startsWith('ERR_')) problems.push(`${what}: ${code}`)
        } else if (JSON.stringify(outcome) !== JSON.stringify(expected)) problems.push(`${what}: other numbers`)
        const after = libraries.report().live
        const alive = Object.entries(after).filter(([kind, number]) => number > (before[kind] ?? 0))
        if (alive.length > 0 && !GIVES_BACK.test(symbol)) problems.push(`${what}: ${JSON.stringify(alive)} is left`)
      }
      if (JSON.stringify(await life()) !== JSON.stringify(expected)) problems.push(`after ${symbol}: other numbers`)
    }
    expect(problems).toEqual([])
    expect([...told].sort()).toEqual(['ERR_BACKEND_UNAVAILABLE', 'ERR_CUBLAS', 'ERR_CUDA', 'ERR_CUDNN'])
  })
})
