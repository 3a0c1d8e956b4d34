import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { filled, filledCanonical } from '@cudnn-rnn/conformance'
import { collectGarbage } from '@cudnn-rnn/conformance/collect_garbage'
import { expect, it } from 'vitest'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

const skipped = instructionSetsUnderTest('result memory').length === 0

/**
 * Large enough for output, gradient with respect to input and gradient with respect to parameters to be in memory that
 * is used again.
 */
const descriptor = createRnnDescriptor({
  cellMode: 'lstm',
  numLayers: 1,
  numUnits: 200,
  inputSize: 200,
  inputMode: 'linear_input',
  direction: 'bidirectional',
})
const [TIME, BATCH] = [30, 16]

it.skipIf(skipped)('memory of results that is used again leaves nothing of them behind', async () => {
  using backend = openCpuBackend({ threads: 2 })
  using rnn = backend.rnn(descriptor)
  const params = rnn.canonicalToParams(filledCanonical(descriptor, 'float32', 0.1))
  const input = filled('x', [TIME, BATCH, 200], 'float32')
  // Rows of every length, 0 among them: the elements past their ends must be written too.
  const sequenceLengths = Array.from({ length: BATCH }, (_, row) => ((row * TIME) / BATCH) | 0)
  const first: WeakRef<Float32Array>[] = []

  const pass = async (spoil: boolean) => {
    const forward = await rnn.forward({ input, inputH: null, inputC: null, params, sequenceLengths, training: true })
    const { output } = forward
    const gradients = await rnn.backward(forward.tape!, { output })
    const tensors = [output, gradients.input, gradients.params]
    const results = await Promise.all(tensors.map(async (tensor) => (await tensor.read()).data as Float32Array))
    const copies = results.map((data) => data.slice())
    if (spoil) {
      for (const data of results) {
        expect(data.byteLength).toBeGreaterThan(2 ** 18)
        data.fill(Number.NaN)
        first.push(new WeakRef(data))
      }
    }
    for (const tensor of tensors) tensor.dispose()
    return copies
  }

  const same = (a: Float32Array, b: Float32Array) => Buffer.from(a.buffer).equals(Buffer.from(b.buffer))
  const expected = await pass(true)
  // Results are garbage from the turn after the one that used them on; finalizers run in a separate turn.
  for (let turn = 0; turn < 5; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    await collectGarbage()
  }
  expect(first.map((each) => each.deref())).toEqual([undefined, undefined, undefined])
  for (let again = 0; again < 2; again++) {
    const results = await pass(false)
    expect(results.map((data, index) => same(data, expected[index]))).toEqual([true, true, true])
  }
})
