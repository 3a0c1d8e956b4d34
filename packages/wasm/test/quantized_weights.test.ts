import { registerQuantizedWeightsConformance } from '@cudnn-rnn/conformance'
import { openWasmBackend } from '../src/index.js'

registerQuantizedWeightsConformance('wasm', (weights) => openWasmBackend({ weights }))
