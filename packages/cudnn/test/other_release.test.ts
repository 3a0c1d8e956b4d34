import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { registerPassConformance } from '@cudnn-rnn/conformance'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

// Undocumented behavior may differ in the cuDNN of a GPU's host: neither executor nor suite may depend on it.
describe.skipIf(gpu.problem !== undefined)(`another release of cuDNN (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeAll(() => libraries.configure('reset; other_release=1'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))
  afterAll(() => libraries.configure('reset'))

  it('passes without a state round in another way than passes with zeros', async () => {
    await using backend = await open({ algorithm: 'standard' })
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 8, inputSize: 4 }))
    const params = { data: new Float32Array(rnn.paramsSize).fill(0.1), shape: [rnn.paramsSize] }
    const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] }
    const output = async (inputH: { data: Float32Array; shape: number[] } | null) => {
      const result = await rnn.forward({ input, inputH, inputC: null, params, sequenceLengths: null, training: false })
      return Array.from((await result.output.read()).data)
    }
    const [left, zeros] = [await output(null), await output({ data: new Float32Array(24), shape: [1, 3, 8] })]
    expect(left).not.toEqual(zeros)
    for (const [k, value] of left.entries()) expect(value).toBeCloseTo(zeros[k]!, 6)
  })

  registerPassConformance({
    open: () => open({ algorithm: 'standard' }),
    ...{ dtype: 'float32', tolerance: 2e-6, roundingOracle: undefined, extent: 'covering' },
  })
})
