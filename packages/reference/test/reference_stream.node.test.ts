import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { openReferenceBackend } from '../src/index.js'

// The package is typed for browsers; this test runs in Node.js.
declare const process: { memoryUsage(): { readonly heapUsed: number } }

it.each(['lstm', 'gru', 'rnn_tanh'] as const)(
  'ReferenceStream.step allocates nothing for %s when out is given',
  (cellMode) => {
    const rnn = openReferenceBackend().rnn(createRnnDescriptor({ cellMode, numLayers: 2, numUnits: 8, inputSize: 4 }))
    const stepper = rnn.stepper({ data: new Float32Array(rnn.paramsSize), shape: [rnn.paramsSize] }, 1)
    const input = { data: new Float32Array(4), shape: [1, 4] }
    const out = { data: new Float32Array(8), shape: [1, 8] }
    const run = (steps: number) => {
      for (let step = 0; step < steps; step++) stepper.stepSync(input, out)
    }
    run(20_000) // until the code is optimized
    const steps = 20_000
    const growth = [0, 1, 2].map(() => {
      const before = process.memoryUsage().heapUsed
      run(steps)
      return (process.memoryUsage().heapUsed - before) / steps
    })
    // An object of the smallest size per step would be 16 bytes in each of the three; a compiler of the engine, which may
    // still be at work, allocates in one.
    expect(growth.sort((a, b) => a - b)[1]).toBeLessThan(16)
  },
)
