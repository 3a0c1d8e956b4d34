import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { filled, filledCanonical } from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { openWasmBackend } from '../src/index.js'

it('a stream follows parameters that are updated, and a host array that is written', async () => {
  using backend = await openWasmBackend()
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 20, inputSize: 7 })
  const rnn = backend.rnn(descriptor)
  const params = rnn.canonicalToParams(filledCanonical(descriptor, 'float32', 0.2))
  const host = { data: (await params.read()).data.slice() as Float32Array, shape: params.shape }
  const steppers = [rnn.stepper(params, 2), rnn.stepper(host, 2)]
  const input = filled('x', [5, 2, 7], 'float32')
  const outputs = () =>
    steppers.map((stepper) => {
      stepper.reset()
      return Array.from(stepper.stepSync(input).data)
    })
  const [before, same] = outputs()
  expect(same).toEqual(before)
  backend.ops.accumulate(params, params, 0.5)
  host.data.set((await params.read()).data)
  const [after, written] = outputs()
  expect(after).not.toEqual(before)
  expect(written).toEqual(after)
})
