import { registerIntegerProductsConformance, registerQuantizedWeightsConformance } from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

/** The one that multiplies int8 weights in integers. */
const OF_INTEGERS = 'avx512-vnni'

for (const instructionSet of instructionSetsUnderTest('quantized weights')) {
  const open = (weights: 'float32' | 'bfloat16' | 'int8') => openCpuBackend({ instructionSet, weights })
  registerQuantizedWeightsConformance(instructionSet, open)
  if (instructionSet === OF_INTEGERS) registerIntegerProductsConformance(instructionSet, open, { inputBits: 16 })
}

it('weights other than float32 are refused with dtype float64', () => {
  expect(() => openCpuBackend({ dtype: 'float64', weights: 'int8' })).toThrow(coded('ERR_INVALID_OPTION'))
})
