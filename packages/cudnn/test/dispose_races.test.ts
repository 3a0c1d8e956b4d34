import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CudnnBackend } from '../src/cudnn_backend.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallCharModel } from './small_char_model.js'
import { smallLstm } from './small_lstm.js'

const gpu = openEmulatedGpu()
/** Turns of the event loop between a call and the disposal; a call of this file takes fewer. */
const TURNS = [0, 1, 3, 8]

/** Errors of the backend, and of its tensors, which went with it. */
const REFUSALS = ['ERR_BACKEND_DISPOSED', 'ERR_TENSOR_DISPOSED']

/** Calls that are under way when the backend is disposed: `prepare` returns the function that begins them. */
const CALLS: Readonly<Record<string, (backend: CudnnBackend) => Promise<() => readonly Promise<unknown>[]>>> = {
  'a first forward': async (backend) => {
    const { forward } = smallLstm(backend)
    return () => [forward(true)]
  },
  'a forward of a known shape': async (backend) => {
    const { forward } = smallLstm(backend)
    await forward(false)
    return () => [forward(false), forward(false)]
  },
  'a forward that is captured': async (backend) => {
    const { forward } = smallLstm(backend)
    for (let pass = 0; pass < 3; pass++) await forward(false)
    return () => [forward(false), forward(false)]
  },
  'a backward': async (backend) => {
    const { rnn, forward } = smallLstm(backend)
    const { output, tape } = await forward()
    return () => [rnn.backward(tape!, { output })]
  },
  'a training step': async (backend) => {
    const model = smallCharModel(backend, { dropout: 0.3 })
    for (let step = 0; step < 3; step++) await model.step()
    return () => [model.step()]
  },
  'reads and writes': async (backend) => {
    const tensor = backend.zeros([64])
    return () => [tensor.read(), backend.tensor({ data: new Float32Array(64), shape: [64] }).read()]
  },
  'the dropout state': async (backend) => {
    const shape = { cellMode: 'lstm', numLayers: 2, numUnits: 4, inputSize: 3, dropout: 0.5, seed: 1 } as const
    const rnn = backend.rnn(createRnnDescriptor(shape))
    return () => [rnn.dropoutState()]
  },
}

describe.skipIf(gpu.problem !== undefined)(`dispose beside calls (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  it.each(Object.keys(CALLS))('%s ends, or rejects as the backend was disposed; nothing is left', async (name) => {
    for (const turns of TURNS) {
      const backend = await open({ algorithm: name === 'a first forward' ? 'measured' : 'standard', graphs: true })
      const begin = await CALLS[name](backend)
      const calls = begin()
      const settled = Promise.allSettled(calls)
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      await backend.close()
      for (const result of await settled) {
        if (result.status === 'rejected') expect(REFUSALS).toContain(result.reason.code)
      }
      expect(libraries.report().live['device bytes'] ?? 0).toBe(0)
      expect(libraries.report().live['graph execs'] ?? 0).toBe(0)
    }
  })

  it('passes that nothing awaits, on several executors at once: each result is read or refused with a code', async () => {
    const executors = await Promise.all(Array.from({ length: 6 }, () => open({ algorithm: 'standard' })))
    const passes = executors.flatMap((backend) => {
      const { rnn, forward } = smallLstm(backend)
      return Array.from({ length: 6 }, async () => {
        const { output, tape } = await forward()
        const gradients = await rnn.backward(tape!, { output })
        return (await gradients.input.read()).data.every(Number.isFinite)
      })
    })
    const settled = Promise.allSettled(passes)
    for (const [index, backend] of executors.entries()) {
      if (index % 2 === 1) await Promise.resolve()
      backend.dispose()
    }
    for (const result of await settled) {
      if (result.status === 'fulfilled') expect(result.value).toBe(true)
      else expect([...REFUSALS, 'ERR_TAPE_DISPOSED']).toContain(result.reason.code)
    }
    for (const backend of executors) await backend.close()
    expect(libraries.report().live['device bytes'] ?? 0).toBe(0)
  })
})
