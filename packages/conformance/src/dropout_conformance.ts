import { describe, expect, test } from 'vitest'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { readAll, smallNetwork } from './small_network.js'

/** Enough elements that the share of dropped ones is within three hundredths of the rate, at nine sigma. */
const UNITS = 128
const TIME = 50
const BATCH = 4

/** Properties of dropout that do not depend on the executor's generator. */
export function registerDropoutConformance({ open, tolerance }: ExecutorUnderTest): void {
  describe('dropout', () => {
    test.each([0.25, 0.6, 1])('drops a share of %f between layers and scales the kept elements', async (rate) => {
      using backend = await open()
      // A second layer that copies: relu of its input, which is the first layer's output, 1 everywhere.
      const { rnn } = smallNetwork(backend, {
        cellMode: 'rnn_relu',
        numUnits: UNITS,
        inputSize: UNITS,
        dropout: rate,
        seed: 5,
      })
      const { weights, biases } = await rnn.paramsToCanonical(backend.zeros([rnn.paramsSize]))
      for (let unit = 0; unit < UNITS; unit++) weights[2].data[unit * UNITS + unit] = 1
      biases[0].data.fill(1)
      const { output } = await rnn.forward({
        input: backend.zeros([TIME, BATCH, UNITS]),
        inputH: null,
        inputC: null,
        params: rnn.canonicalToParams({ weights, biases }),
        sequenceLengths: null,
        training: true,
      })
      const values = Array.from((await output.read()).data)
      const dropped = values.filter((value) => value === 0).length / values.length
      expect(dropped).toBeGreaterThan(rate - 0.03)
      expect(dropped).toBeLessThan(rate + 0.03)
      for (const value of new Set(values.filter((value) => value !== 0))) {
        expect(Math.abs(value - 1 / (1 - rate))).toBeLessThan(Math.max(5e-6, tolerance))
      }
    })

    test('is off in inference and for a single layer', async () => {
      using backend = await open()
      const plain = await readAll(await smallNetwork(backend, { cellMode: 'gru' }).forward(false))
      expect(await readAll(await smallNetwork(backend, { cellMode: 'gru', dropout: 0.5 }).forward(false))).toEqual(
        plain,
      )
      const single = { cellMode: 'gru', numLayers: 1 } as const
      const training = await smallNetwork(backend, { ...single, dropout: 0.5 }).forward(true)
      expect(await readAll(training)).toEqual(await readAll(await smallNetwork(backend, single).forward(true)))
    })

    test('draws new masks at every forward, and the same ones from a restored state or the same seed', async () => {
      using backend = await open()
      const options = { cellMode: 'rnn_tanh', numUnits: 16, dropout: 0.5, seed: 7 } as const
      const network = smallNetwork(backend, options)
      const start = await network.rnn.dropoutState()
      const first = await readAll(await network.forward(true))
      const second = await readAll(await network.forward(true))
      expect(second).not.toEqual(first)
      network.rnn.restoreDropoutState(start)
      expect(await readAll(await network.forward(true))).toEqual(first)
      expect(await readAll(await smallNetwork(backend, options).forward(true))).toEqual(first)
      expect(await readAll(await smallNetwork(backend, { ...options, seed: 8 }).forward(true))).not.toEqual(first)
    })

    test('refuses a state that is none', async () => {
      using backend = await open()
      const { rnn } = smallNetwork(backend, { cellMode: 'gru', dropout: 0.5 })
      expect(() => rnn.restoreDropoutState(new Uint8Array(3))).toThrow(
        expect.objectContaining({ code: 'ERR_DROPOUT_STATE' }),
      )
    })
  })
}
