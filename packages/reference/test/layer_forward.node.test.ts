import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { openReferenceBackend } from '../src/index.js'

// The package is typed for browsers; this test runs in Node.js.
declare const process: { memoryUsage(): { readonly heapUsed: number } }

it.each(['lstm', 'gru', 'rnn_relu'] as const)(
  'layerForward and runLayerBackward allocate nothing per time step for %s',
  async (cellMode) => {
    const backend = openReferenceBackend()
    const rnn = backend.rnn(createRnnDescriptor({ cellMode, numLayers: 1, numUnits: 6, inputSize: 3 }))
    const params = backend.zeros([rnn.paramsSize])
    const run = async (time: number) => {
      const input = backend.zeros([time, 3, 3])
      const before = process.memoryUsage().heapUsed
      const { output, tape } = await rnn.forward({
        input,
        inputH: null,
        inputC: null,
        params,
        sequenceLengths: [time, time - 1, 5],
        training: true,
      })
      await rnn.backward(tape!, { output })
      return process.memoryUsage().heapUsed - before
    }
    for (let round = 0; round < 5; round++) await run(5000) // until the code is optimized
    const time = 20_000
    // V8 compiles in the background and its own objects count too: an allocation per step is in every run, so the least of
    // several decides. The elements of large typed arrays are outside this heap; the smallest object per step is 16 bytes.
    const growths: number[] = []
    while (growths.length < 10 && !growths.some((growth) => growth < 16)) growths.push((await run(time)) / time)
    expect(Math.min(...growths)).toBeLessThan(16)
  },
)
