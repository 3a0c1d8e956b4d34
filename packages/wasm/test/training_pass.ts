import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { filled, filledCanonical } from '@cudnn-rnn/conformance'
import type { WasmBackend } from '../src/index.js'

const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 96, inputSize: 32 })

/** Output and parameter gradients of a training pass of 12 steps over 8 sequences, large enough for several threads. */
export async function trainingPass(backend: WasmBackend): Promise<readonly Float32Array[]> {
  const rnn = backend.rnn(descriptor)
  const params = rnn.canonicalToParams(filledCanonical(descriptor, 'float32', 0.1))
  const input = filled('x', [12, 8, 32], 'float32')
  const forward = { input, inputH: null, inputC: null, params, sequenceLengths: null, training: true }
  const { output, tape } = await rnn.forward(forward)
  const { params: gradient } = await rnn.backward(tape!, { output })
  return [(await output.read()).data as Float32Array, (await gradient.read()).data as Float32Array]
}

export function greatestDifference(found: readonly Float32Array[], expected: readonly Float32Array[]): number {
  const differences = found.map((values, index) =>
    values.reduce((most, value, k) => Math.max(most, Math.abs(value - expected[index]![k]!)), 0),
  )
  return Math.max(...differences)
}
