import { registerIntegerProductsConformance, registerQuantizedWeightsConformance } from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

/** Bits of the inputs of the instruction sets that multiply int8 weights in integers. */
const INPUT_BITS: Readonly<Record<string, number>> = { 'avx512-vnni': 16, avx512: 15, avx2: 15 }

for (const instructionSet of instructionSetsUnderTest('quantized weights')) {
  const open = (weights: 'float32' | 'bfloat16' | 'int8' | 'bfloat16 products') =>
    openCpuBackend({
      instructionSet,
      ...(weights === 'bfloat16 products' ? { precision: 'bfloat16' } : { weights }),
    })
  registerQuantizedWeightsConformance(instructionSet, open, ['bfloat16', 'int8', 'bfloat16 products'])
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

it('weights other than float32 are refused with dtype float64', () => {
  expect(() => openCpuBackend({ dtype: 'float64', weights: 'int8' })).toThrow(coded('ERR_INVALID_OPTION'))
})
