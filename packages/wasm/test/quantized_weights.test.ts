import { registerIntegerProductsConformance, registerQuantizedWeightsConformance } from '@cudnn-rnn/conformance'
import { openWasmBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

registerQuantizedWeightsConformance('wasm', (weights) => openWasmBackend({ weights }), ['bfloat16', 'int8'])

for (const instructionSet of instructionSetsUnderTest()) {
  const open = (weights: 'float32' | 'int8') => openWasmBackend({ instructionSet, weights, threads: 1 })
  registerIntegerProductsConformance(instructionSet, open, { inputBits: 15 })
}
