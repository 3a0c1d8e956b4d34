import { createRnnDescriptor, elementCount } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openReferenceBackend } from '../src/index.js'

const floats = (...shape: number[]) => ({ data: new Float32Array(elementCount(shape)).fill(0.1), shape })

function open(numLayers: number, dropout = 0) {
  const backend = openReferenceBackend()
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers, numUnits: 3, inputSize: 2, dropout }))
  const params = floats(rnn.paramsSize)
  const inputs = { input: floats(5, 2, 2), inputH: null, inputC: null, params, sequenceLengths: null }
  return { backend, rnn, forward: () => rnn.forward({ ...inputs, training: true }) }
}

it.each([
  // 10 rows: of each layer 4 saved values and h of 3 units; of the second its input; with dropout that scaled, and scales.
  ['one layer', 1, 0, 10 * (12 + 3)],
  ['two layers', 2, 0, 2 * 10 * (12 + 3) + 10 * 3],
  ['two layers with dropout', 2, 0.5, 2 * 10 * (12 + 3) + 2 * 10 * 3],
])('a tape counts the bytes that it keeps of %s', async (_, layers, dropout, floatsKept) => {
  const { backend, forward } = open(layers, dropout)
  const run = await forward()
  const withTape = backend.stats().bytes
  run.tape?.dispose()
  expect(withTape - backend.stats().bytes).toBe(4 * floatsKept)
  expect(backend.stats().tapes).toBe(0)
})

it('a tape serves one backward of the network that made it', async () => {
  const { rnn, forward, backend } = open(1)
  const { output, tape } = await forward()
  const other = open(1)
  await expect(other.rnn.backward(tape!, { output: floats(5, 2, 3) })).rejects.toThrow(coded('ERR_TAPE_FOREIGN'))
  await rnn.backward(tape!, { output })
  expect(backend.stats().tapes).toBe(0)
  await expect(rnn.backward(tape!, { output })).rejects.toThrow(coded('ERR_TAPE_CONSUMED'))
  await expect(rnn.backward({} as never, { output })).rejects.toThrow(coded('ERR_TAPE_FOREIGN'))
})
