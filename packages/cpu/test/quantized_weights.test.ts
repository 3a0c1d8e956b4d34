import { createRnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import {
  expectAllclose,
  filled,
  filledCanonical,
  readAll,
  registerQuantizedWeightsConformance,
} from '@cudnn-rnn/conformance'
import { describe, expect, it } from 'vitest'
import { type InstructionSet, openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

for (const instructionSet of instructionSetsUnderTest('quantized weights')) {
  registerQuantizedWeightsConformance(instructionSet, (weights) => openCpuBackend({ instructionSet, weights }))
}

const sets = instructionSetsUnderTest('int8 weights')

describe.skipIf(!sets.includes('avx512-vnni'))('int8 weights in integers', () => {
  // More rows than the integers' sums go over, and no multiple of the four that one instruction takes.
  const descriptor = createRnnDescriptor({
    ...{ cellMode: 'rnn_relu', numLayers: 1, numUnits: 37, inputSize: 2 * 1024 + 7 },
    ...{ inputMode: 'linear_input', direction: 'unidirectional' },
  })

  async function outputs(instructionSet: InstructionSet, input: Tensor): Promise<number[]> {
    const backend = openCpuBackend({ instructionSet, weights: 'int8' })
    const rnn = backend.rnn(descriptor)
    const params = rnn.canonicalToParams(filledCanonical(descriptor, 'float32', 0.1))
    const result = await rnn.forward({
      input,
      inputH: null,
      inputC: null,
      params,
      sequenceLengths: null,
      training: false,
    })
    const { output } = await readAll(result)
    backend.dispose()
    return output
  }

  it.each([1, 2, 3])('%i rows are those of products in float32', async (rows) => {
    const input = filled('x', [4, rows, descriptor.inputSize], 'float32')
    const [integers, floats] = [await outputs('avx512-vnni', input), await outputs('avx512', input)]
    const largest = Math.max(...floats)
    expect(largest).toBeGreaterThan(0.1)
    // 16 bits of the input's largest element, and sums over a few thousand.
    expectAllclose('output', integers, floats, largest * 2 ** -13)
    expect(integers).not.toEqual(floats)
  })

  it('a row that is not finite gives NaN and does not change the others', async () => {
    const input = filled('x', [1, 2, descriptor.inputSize], 'float32')
    const alone = await outputs('avx512-vnni', input)
    input.data[descriptor.inputSize + 5] = Number.POSITIVE_INFINITY
    const both = await outputs('avx512-vnni', input)
    expect(both.slice(0, descriptor.numUnits)).toEqual(alone.slice(0, descriptor.numUnits))
    expect(both.slice(descriptor.numUnits).every(Number.isNaN)).toBe(true)
  })

  it('a row of zeros gives the bias', async () => {
    const size = [1, 1, descriptor.inputSize]
    const zeros = { data: new Float32Array(descriptor.inputSize), shape: size }
    expect(await outputs('avx512-vnni', zeros)).toEqual(await outputs('avx512', zeros))
  })
})

it('weights other than float32 are refused with dtype float64', () => {
  expect(() => openCpuBackend({ dtype: 'float64', weights: 'int8' })).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
  )
})
