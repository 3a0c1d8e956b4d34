import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import {
  filled,
  filledCanonical,
  registerIntegerProductsConformance,
  registerQuantizedWeightsConformance,
} from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openCpu } from '../src/cpu_backend.js'
import { type CpuBackend, type CpuBackendOptions, openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

/** Bits of the inputs of the instruction sets that multiply int8 weights in integers. */
const INPUT_BITS: Readonly<Record<string, number>> = {
  ...{ 'avx512-vnni': 16, avx512: 15, 'avx2-vnni': 16, avx2: 15 },
  ...{ 'neon-i8mm-bf16': 16, 'neon-dotprod': 16 },
}

const FORMATS = ['bfloat16', 'int8', 'bfloat16 products', 'int8 products'] as const
type Format = 'float32' | (typeof FORMATS)[number]
const OPTIONS: Readonly<Record<Format, CpuBackendOptions>> = {
  float32: {},
  bfloat16: { weights: 'bfloat16' },
  int8: { weights: 'int8' },
  'bfloat16 products': { precision: 'bfloat16' },
  'int8 products': { weights: 'int8', activations: 'int8' },
}

for (const instructionSet of instructionSetsUnderTest('quantized weights')) {
  const open = (format: Format) => openCpu({ instructionSet, ...OPTIONS[format] }, false)
  registerQuantizedWeightsConformance(instructionSet, open, FORMATS)
  const openInBytes = (weights: 'float32' | 'int8') => open(weights === 'int8' ? 'int8 products' : weights)
  registerIntegerProductsConformance(`${instructionSet}, int8 activations`, openInBytes, { inputBits: 8 })
  const inputBits = INPUT_BITS[instructionSet]
  if (inputBits !== undefined) registerIntegerProductsConformance(instructionSet, open, { inputBits })
}

it('products of bfloat16 are refused with dtype float64 and weights int8, and named', () => {
  for (const options of [{ dtype: 'float64' }, { weights: 'int8' }] as const) {
    expect(() => openCpuBackend({ ...options, precision: 'bfloat16' })).toThrow(coded('ERR_INVALID_OPTION'))
  }
  using backend = openCpuBackend({ precision: 'bfloat16', threads: 1 })
  expect(backend.reason).toMatch(/1 thread, bfloat16 products$/)
  expect(backend.implementation).toMatch(/, bfloat16 products$/)
})

it('int8 activations are refused without int8 weights, and named', () => {
  for (const options of [{}, { weights: 'bfloat16' }, { dtype: 'float64' }] as const) {
    expect(() => openCpuBackend({ ...options, activations: 'int8' })).toThrow(coded('ERR_INVALID_OPTION'))
  }
  using backend = openCpuBackend({ weights: 'int8', activations: 'int8', threads: 1 })
  expect(backend.reason).toMatch(/1 thread, int8 products$/)
})

it('weights other than float32 are refused with dtype float64', () => {
  expect(() => openCpuBackend({ dtype: 'float64', weights: 'int8' })).toThrow(coded('ERR_INVALID_OPTION'))
})

it.each(['bfloat16 products', 'int8 products'] as const)('%s serve networks that are large enough', async (format) => {
  using exact = openCpuBackend({ threads: 1 })
  using reduced = openCpuBackend({ threads: 1, ...OPTIONS[format] })
  // Some 18,000 parameters.
  const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 50, inputSize: 51 })
  const outputsOf = async (backend: CpuBackend, batch: number) => {
    using rnn = backend.rnn(descriptor)
    const params = rnn.canonicalToParams(filledCanonical(descriptor, 'float32', 0.1))
    const input = filled('x', [16, batch, 51], 'float32')
    const pass = { input, inputH: null, inputC: null, params, sequenceLengths: null }
    const [inferred, trained] = [
      await rnn.forward({ ...pass, training: false }),
      await rnn.forward({ ...pass, training: true }),
    ]
    const read = [await inferred.output.read(), await trained.output.read(), rnn.stepper(params, batch).stepSync(input)]
    return read.map(({ data }) => Array.from(data))
  }
  const agrees = async (batch: number) => {
    const [expected, actual] = [await outputsOf(exact, batch), await outputsOf(reduced, batch)]
    return actual.map((values, k) => values.every((value, at) => value === expected[k][at]))
  }
  expect(await agrees(1)).toEqual([true, true, true])
  expect(await agrees(2)).toEqual([false, true, false])
  expect(await agrees(4)).toEqual([false, format === 'int8 products', false])
})
