import type { BackendTensor } from '@cudnn-rnn/ops'
import { numGates } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { filledCanonical } from './fills.js'
import { readAll, SMALL_BATCH, SMALL_TIME, smallNetwork } from './small_network.js'

const CELLS = ['lstm', 'gru', 'rnn_relu', 'rnn_tanh'] as const

/** NaN and infinity stay where the equations put them: never in padding, never in another row. */
export function registerNonFiniteConformance({ open, dtype }: ExecutorUnderTest): void {
  const own = dtype === 'float64' ? Float64Array : Float32Array

  describe('non-finite inputs', () => {
    test.each(CELLS)('%s: NaN in one row leaves padding 0 and other rows as they are', async (cellMode) => {
      using backend = await open()
      const lengths = [2, 0, SMALL_TIME]
      const network = smallNetwork(backend, { cellMode }, lengths)
      const run = async (poison: number) => {
        const input = { data: new own(SMALL_TIME * SMALL_BATCH * 2).fill(0.5), shape: [SMALL_TIME, SMALL_BATCH, 2] }
        // Row 0, step 0.
        input.data[0] = poison
        const result = await network.forward(true, { input })
        const output = await readAll(result)
        return { output: output.output, dInput: (await readAll(await network.backward(result))).input }
      }
      const clean = await run(0.5)
      const poisoned = await run(Number.NaN)
      for (const [name, columns] of [
        ['output', poisoned.output.length / (SMALL_TIME * SMALL_BATCH)],
        ['dInput', 2],
      ] as const) {
        for (let t = 0; t < SMALL_TIME; t++) {
          for (let row = 0; row < SMALL_BATCH; row++) {
            const at = (t * SMALL_BATCH + row) * columns
            const values = poisoned[name].slice(at, at + columns)
            if (t >= lengths[row]) expect(values).toEqual(values.map(() => 0))
            else if (row > 0) expect(values).toEqual(clean[name].slice(at, at + columns))
          }
        }
      }
    })

    test.each([...CELLS.map((cellMode) => ({ cellMode })), { cellMode: 'lstm' as const, numProj: 2 }])(
      '%o: NaN in the state of a row without steps passes through, and reaches no gradient of the parameters',
      async (options) => {
        using backend = await open()
        const network = smallNetwork(backend, { ...options, numLayers: 1 }, [2, 0, SMALL_TIME])
        const { inputH, inputC } = network.inputs
        const poisoned = (state: typeof inputH) => {
          const data = state.data.slice()
          const columns = state.shape[2]
          data.fill(Number.NaN, columns, 2 * columns)
          return { data, shape: state.shape }
        }
        const states = { inputH: poisoned(inputH), ...(inputC && { inputC: poisoned(inputC) }) }
        const result = await network.forward(true, states)
        const { output, outputH } = await readAll(result)
        expect(output.every(Number.isFinite)).toBe(true)
        const columns = inputH.shape[2]
        expect(outputH.map(Number.isFinite)).toEqual(outputH.map((_, k) => Math.floor(k / columns) !== 1))
        const gradients = await readAll(await network.backward(result))
        for (const [name, values] of Object.entries(gradients)) expect(values.every(Number.isFinite), name).toBe(true)
      },
    )

    test.each(CELLS)('%s: NaN in the parameters reaches no row without steps', async (cellMode) => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode }, [2, 0, SMALL_TIME])
      const poisoned = { data: new own(network.rnn.paramsSize).fill(Number.NaN), shape: [network.rnn.paramsSize] }
      const result = await network.forward(true, { params: poisoned })
      const gradients = await readAll(await network.backward(result))
      const columns = network.inputs.inputH.shape[2]
      const ofRow1 = (values: readonly number[]) => values.filter((_, k) => Math.floor(k / columns) % SMALL_BATCH === 1)
      for (const name of ['outputH', 'outputC'] as const) {
        const given = network.outputGradients[name]
        if (given === undefined) continue
        const gradient = gradients[name === 'outputH' ? 'inputH' : 'inputC']
        expect(ofRow1(gradient), name).toEqual(ofRow1(Array.from(given.data)))
      }
      // Two columns of input.
      const ofPadding = gradients.input.filter((_, k) => Math.floor(k / 2) % SMALL_BATCH === 1)
      expect(ofPadding, 'input').toEqual(ofPadding.map(() => 0))
    })

    test.each(CELLS)('%s: NaN in the parameters reaches no gradient of a batch without steps', async (cellMode) => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode, numLayers: 1 }, [0, 0, 0])
      const poisoned = { data: new own(network.rnn.paramsSize).fill(Number.NaN), shape: [network.rnn.paramsSize] }
      const result = await network.forward(true, { params: poisoned })
      const gradients = await readAll(await network.backward(result))
      for (const name of ['input', 'params']) expect(gradients[name], name).toEqual(gradients[name].map(() => 0))
    })

    test.each([...CELLS.map((cellMode) => ({ cellMode })), { cellMode: 'lstm' as const, numProj: 2 }])(
      '%o: NaN in the weights of a unit reaches no gradient of other units through padding',
      async (options) => {
        using backend = await open()
        // Each row has one step at most, so no gradient passes through R to another step.
        const network = smallNetwork(backend, { ...options, numLayers: 1 }, [1, 0, 1])
        const { rnn } = network
        const run = async (params: BackendTensor) => {
          const gradients = await network.backward(await network.forward(true, { params }))
          const { weights, biases } = await rnn.paramsToCanonical(gradients.params)
          const gates = numGates(rnn.descriptor)
          // All rows but the first of W, R and the biases.
          return [...weights.slice(0, 2 * gates), ...biases].map(({ data, shape }) =>
            Array.from(data.subarray(data.length / shape[0])),
          )
        }
        const canonical = filledCanonical(rnn.descriptor, backend.dtype)
        const expected = await run(network.params)
        // The first row of R of the first gate.
        const { data, shape } = canonical.weights[numGates(rnn.descriptor)]
        data.fill(Number.NaN, 0, shape[1])
        expect(await run(rnn.canonicalToParams(canonical))).toEqual(expected)
      },
    )

    test.each(['lstm', 'rnn_tanh'] as const)(
      '%s: an infinite input saturates, with finite gradients',
      async (cellMode) => {
        using backend = await open()
        const network = smallNetwork(backend, { cellMode, numLayers: 1 })
        for (const infinity of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
          const input = { data: new own(SMALL_TIME * SMALL_BATCH * 2).fill(0.5), shape: [SMALL_TIME, SMALL_BATCH, 2] }
          input.data[2] = infinity
          const result = await network.forward(true, { input })
          for (const values of Object.values(await readAll(result))) expect(values.every(Number.isFinite)).toBe(true)
          const gradients = await readAll(await network.backward(result))
          // Gradients of the parameters are 0·∞ in the reference too.
          for (const name of ['input', 'inputH', 'inputC']) {
            if (gradients[name] !== undefined) expect(gradients[name].every(Number.isFinite), name).toBe(true)
          }
        }
      },
    )
  })
}
