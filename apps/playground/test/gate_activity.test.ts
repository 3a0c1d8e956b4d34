import { CudnnLSTM, openBackend } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import { GateTracer } from '../src/character/gate_activity.js'

it('GateTracer computes the hidden and cell states that an executor computes', async () => {
  using backend = await openBackend('reference', { dtype: 'float64' })
  using lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 5, inputSize: 3 })
  using params = lstm.createParams({ seed: 4 })
  const data = Float32Array.from({ length: 12 }, (_, k) => Math.sin(k))
  const tracer = new GateTracer(await lstm.paramsToCanonical(params), 5)
  const steps = [0, 1, 2, 3].map((t) => tracer.step(data.subarray(3 * t, 3 * t + 3)))

  const input = { data: Float64Array.from(data), shape: [4, 1, 3] }
  const { output, outputC } = await lstm.call(input, null, null, params, { isTraining: false })
  const expected = (await output.read()).data
  const hidden = steps.flatMap((step) => [...step['hidden state']])
  expect(hidden).toHaveLength(20)
  for (const [index, value] of hidden.entries()) expect(value).toBeCloseTo(Number(expected[index]), 6)
  const last = (await outputC.read()).data
  for (const [unit, value] of steps[3]!['cell state'].entries()) expect(value).toBeCloseTo(Number(last[unit]), 6)
  for (const gate of ['input', 'forget', 'output'] as const) {
    const values = steps.flatMap((step) => [...step[gate]])
    expect(Math.min(...values)).toBeGreaterThan(0)
    expect(Math.max(...values)).toBeLessThan(1)
  }
})
