import { openBackend, Variable } from '@cudnn-rnn/rnn'
import { describe, expect, it } from 'vitest'
import { Adam } from '../src/adam.js'

describe('Adam', () => {
  it('moves each variable by the learning rate against the sign of its gradient in the first update', async () => {
    const backend = await openBackend('reference')
    const values = [Float32Array.of(1, 2), Float32Array.of(3)]
    const variables = values.map(
      (data, k) => new Variable(backend, backend.tensor({ data, shape: [data.length] }), `${k}`),
    )
    const adam = new Adam(backend, variables)
    const gradients = [Float32Array.of(0.5, -4), Float32Array.of(1e-3)]
    adam.update(
      gradients.map((data) => backend.tensor({ data, shape: [data.length] })),
      0.25,
      1,
    )
    // Kingma & Ba: with both moments corrected, the first step is lr · g / |g|.
    const [first, second] = await Promise.all(variables.map(({ value }) => value.read()))
    expect(first!.data[0]).toBeCloseTo(0.75, 5)
    expect(first!.data[1]).toBeCloseTo(2.25, 5)
    expect(second!.data[0]).toBeCloseTo(2.75, 4)
  })

  it('names its slots as TensorFlow does and disposes them', async () => {
    const backend = await openBackend('reference')
    const variable = new Variable(backend, backend.zeros([2]), 'embedding')
    const adam = new Adam(backend, [variable])
    expect(adam.slots[0]!.firstMoment.name).toBe('embedding/Adam')
    expect(adam.slots[0]!.secondMoment.name).toBe('embedding/Adam_1')
    adam.dispose()
    variable.dispose()
    expect(backend.stats().tensors).toBe(0)
  })
})
