import { registerIntegerProductsConformance, registerQuantizedWeightsConformance } from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { type CpuBackendOptions, openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

/** Bits of the inputs of the instruction sets that multiply int8 weights in integers. */
const INPUT_BITS: Readonly<Record<string, number>> = { 'avx512-vnni': 16, avx512: 15, avx2: 15 }

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
  const open = (format: Format) => openCpuBackend({ instructionSet, ...OPTIONS[format] })
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
