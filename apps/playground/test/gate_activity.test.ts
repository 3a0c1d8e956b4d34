import { CudnnLSTM, openBackend } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import { gateActivity } from '../src/character/gate_activity.js'

it('gateActivity computes the hidden and cell states that an executor computes', async () => {
  using backend = await openBackend('reference', { dtype: 'float64' })
  using lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 5, inputSize: 3 })
  using params = lstm.createParams({ seed: 4 })
  const data = Float32Array.from({ length: 12 }, (_, k) => Math.sin(k))
  const activity = gateActivity(await lstm.paramsToCanonical(params), data, 3, 5)

  const input = { data: Float64Array.from(data), shape: [4, 1, 3] }
  const { output, outputC } = await lstm.call(input, null, null, params, { isTraining: false })
  const expected = (await output.read()).data
  for (const [index, value] of activity['hidden state'].entries()) expect(value).toBeCloseTo(Number(expected[index]), 6)
  const last = (await outputC.read()).data
  for (const [unit, value] of activity['cell state'].slice(-5).entries())
    expect(value).toBeCloseTo(Number(last[unit]), 6)
  for (const gate of ['input', 'forget', 'output'] as const) {
    expect(Math.min(...activity[gate])).toBeGreaterThan(0)
    expect(Math.max(...activity[gate])).toBeLessThan(1)
  }
})
