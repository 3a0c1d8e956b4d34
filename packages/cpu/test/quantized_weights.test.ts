import { CELL_MODES, type CellMode, createRnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { expectAllclose, filled, filledCanonical, readAll } from '@cudnn-rnn/conformance'
import { describe, expect, it } from 'vitest'
import type { WeightFormat } from '../src/index.js'
import { type InstructionSet, openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

/** Largest difference of an output from float32's; outputs are within -1…1 but for relu. */
const LARGEST: Readonly<Record<string, number>> = { bfloat16: 6e-3, int8: 1e-2 }
/** Less than this would mean that the weights were not quantized at all. */
const SMALLEST = 1e-6

/** Streams and passes sum in different orders. */
const ROUNDING = 2e-6

const SIZES = { time: 12, batch: 3 }

function network(cellMode: CellMode, instructionSet: InstructionSet, weights: WeightFormat) {
  const backend = openCpuBackend({ instructionSet, weights })
  const descriptor = createRnnDescriptor({
    ...{ cellMode, numLayers: 2, numUnits: 70, inputSize: 33, inputMode: 'linear_input', direction: 'unidirectional' },
    ...(cellMode === 'lstm' && { numProj: 50 }),
  })
  const rnn = backend.rnn(descriptor)
  const params = rnn.canonicalToParams(filledCanonical(descriptor, 'float32', 0.12))
  const input = filled('x', [SIZES.time, SIZES.batch, descriptor.inputSize], 'float32')
  const pass = { input, inputH: null, inputC: null, params, sequenceLengths: null }
  return { backend, rnn, params, input, pass }
}

for (const instructionSet of instructionSetsUnderTest('quantized weights')) {
  describe.each(['bfloat16', 'int8'] as const)(`weights: %s on ${instructionSet}`, (weights) => {
    it.each(Object.keys(CELL_MODES) as CellMode[])('%s infers within the bound of float32', async (cellMode) => {
      const exact = network(cellMode, instructionSet, 'float32')
      const quantized = network(cellMode, instructionSet, weights)
      const [expected, actual] = [exact, quantized].map(({ rnn, pass }) => rnn.forward({ ...pass, training: false }))
      const { output } = await readAll(await expected)
      const values = (await readAll(await actual))['output']
      const error = Math.max(...values.map((value, index) => Math.abs(value - output[index])))
      expect(error).toBeGreaterThan(SMALLEST)
      expect(error).toBeLessThan(LARGEST[weights])
      for (const { backend } of [exact, quantized]) backend.dispose()
    })

    it('steps as it infers, and follows the parameters', async () => {
      const { backend, rnn, params, input, pass } = network('gru', instructionSet, weights)
      const stepper = rnn.stepper(params, SIZES.batch)
      const infer = async () => (await readAll(await rnn.forward({ ...pass, training: false })))['output']
      const before = await infer()
      expectAllclose('output', stepper.stepSync(input).data, before, ROUNDING)
      backend.ops.accumulate(params, params, 0.5)
      stepper.reset()
      const after = await infer()
      expect(after).not.toEqual(before)
      expectAllclose('output', stepper.stepSync(input).data, after, ROUNDING)
      backend.dispose()
    })

    it('trains in float32', async () => {
      const results = await Promise.all(
        (['float32', weights] as const).map(async (format) => {
          const { backend, rnn, pass } = network('lstm', instructionSet, format)
          const result = await readAll(await rnn.forward({ ...pass, training: true }))
          backend.dispose()
          return result['output']
        }),
      )
      expect(results[1]).toEqual(results[0])
    })
  })
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
