import { registerIntegerProductsConformance, registerQuantizedWeightsConformance } from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

/** Bits of the inputs of the instruction sets that multiply int8 weights in integers. */
const INPUT_BITS: Readonly<Record<string, number>> = { 'avx512-vnni': 16, avx512: 15, avx2: 15 }

for (const instructionSet of instructionSetsUnderTest('quantized weights')) {
  const open = (weights: 'float32' | 'bfloat16' | 'int8') => openCpuBackend({ instructionSet, weights })
  registerQuantizedWeightsConformance(instructionSet, open)
  const inputBits = INPUT_BITS[instructionSet]
  if (inputBits !== undefined) registerIntegerProductsConformance(instructionSet, open, { inputBits })
}

it('weights other than float32 are refused with dtype float64', () => {
  expect(() => openCpuBackend({ dtype: 'float64', weights: 'int8' })).toThrow(coded('ERR_INVALID_OPTION'))
})
