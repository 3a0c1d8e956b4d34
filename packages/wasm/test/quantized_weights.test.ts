import { createRnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import {
  expectAllclose,
  filled,
  filledCanonical,
  readAll,
  registerQuantizedWeightsConformance,
} from '@cudnn-rnn/conformance'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWasmBackend } from '../src/index.js'
import type { WasmBackend } from '../src/wasm_backend.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

registerQuantizedWeightsConformance('wasm', (weights) => openWasmBackend({ weights }))

describe.each(instructionSetsUnderTest())('int8 weights in integers, %s', (instructionSet) => {
  // More rows than the integers' sums go over, and no multiple of the four that a step of the loop takes.
  const descriptor = createRnnDescriptor({
    ...{ cellMode: 'rnn_relu', numLayers: 1, numUnits: 37, inputSize: 2 * 1024 + 7 },
    ...{ inputMode: 'linear_input', direction: 'unidirectional' },
  })

  /** Weights that int8 has exactly: multiples of the scale, 127 of which every column has. */
  function exactWeights() {
    const canonical = filledCanonical(descriptor, 'float32', 0.1)
    for (const { data, shape } of canonical.weights) {
      const columns = shape[1] as number
      for (let k = 0; k < data.length; k++) {
        data[k] = k % columns === 0 ? 127 / 1024 : Math.round((data[k] as number) * 1024) / 1024
      }
    }
    return canonical
  }

  const backends = {} as Record<'int8' | 'float32', WasmBackend>

  beforeAll(async () => {
    for (const weights of ['int8', 'float32'] as const) {
      backends[weights] = await openWasmBackend({ instructionSet, weights, threads: 1 })
    }
  })

  afterAll(() => {
    for (const backend of Object.values(backends)) backend.dispose()
  })

  async function outputs(weights: 'int8' | 'float32', input: Tensor): Promise<number[]> {
    const rnn = backends[weights].rnn(descriptor)
    const params = rnn.canonicalToParams(exactWeights())
    const result = await rnn.forward({
      ...{ input, inputH: null, inputC: null, params, sequenceLengths: null, training: false },
    })
    return (await readAll(result)).output
  }

  // Tiles have up to five rows.
  it.each([1, 2, 3, 4, 5, 7])('%i rows are those of products in float32', async (rows) => {
    const input = filled('x', [2, rows, descriptor.inputSize], 'float32')
    const [integers, floats] = [await outputs('int8', input), await outputs('float32', input)]
    const largest = Math.max(...floats)
    expect(largest).toBeGreaterThan(0.1)
    // 15 bits of the input's largest element, and sums over a few thousand.
    expectAllclose('output', integers, floats, largest * 2 ** -12)
    expect(integers).not.toEqual(floats)
  })

  it('a row that is not finite gives NaN and does not change the others', async () => {
    const input = filled('x', [1, 2, descriptor.inputSize], 'float32')
    const alone = await outputs('int8', input)
    input.data[descriptor.inputSize + 5] = Number.POSITIVE_INFINITY
    const both = await outputs('int8', input)
    expect(both.slice(0, descriptor.numUnits)).toEqual(alone.slice(0, descriptor.numUnits))
    expect(both.slice(descriptor.numUnits).every(Number.isNaN)).toBe(true)
  })

  it('a row of zeros gives the bias', async () => {
    const size = [1, 1, descriptor.inputSize]
    const zeros = { data: new Float32Array(descriptor.inputSize), shape: size }
    expect(await outputs('int8', zeros)).toEqual(await outputs('float32', zeros))
  })
})
