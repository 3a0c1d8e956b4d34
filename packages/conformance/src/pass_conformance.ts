import { CELL_MODES, type CellMode, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { filledCanonical } from './fills.js'
import { readAll, SMALL_BATCH, SMALL_TIME, smallNetwork } from './small_network.js'

const MODES = Object.keys(CELL_MODES) as CellMode[]

/** Values by name. Executors may take other code paths for absent arguments, which round differently. */
function expectAllAllclose(
  actual: Readonly<Record<string, number[]>>,
  expected: Readonly<Record<string, number[]>>,
  tolerance: number,
): void {
  expect(Object.keys(actual)).toEqual(Object.keys(expected))
  for (const [name, values] of Object.entries(actual)) expectAllclose(name, values, expected[name], tolerance)
}

/** Invariants of passes that do not depend on the numbers. */
export function registerPassConformance({ open, tolerance }: ExecutorUnderTest): void {
  describe('passes', () => {
    test.each(MODES)('%s: canonicalToParams and paramsToCanonical are inverse, bit for bit', async (cellMode) => {
      using backend = await open()
      for (const options of [{}, { direction: 'bidirectional' }, { inputSize: 3, inputMode: 'skip_input' }] as const) {
        const { rnn } = smallNetwork(backend, { cellMode, ...options })
        const canonical = filledCanonical(rnn.descriptor, backend.dtype)
        const back = await rnn.paramsToCanonical(rnn.canonicalToParams(canonical))
        for (const kind of ['weights', 'biases'] as const) {
          expect(back[kind].map(({ data }) => Array.from(data))).toEqual(
            canonical[kind].map(({ data }) => Array.from(data)),
          )
        }
      }
    })

    test.each(MODES)('%s: paramsToCanonical of a selection converts those tensors and no others', async (cellMode) => {
      using backend = await open()
      for (const options of [{}, { direction: 'bidirectional' }] as const) {
        const { rnn } = smallNetwork(backend, { cellMode, ...options })
        const canonical = filledCanonical(rnn.descriptor, backend.dtype)
        const params = rnn.canonicalToParams(canonical)
        const count = canonical.weights.length
        const expected = [...canonical.weights, ...canonical.biases]
        for (const selection of [[], [1], [0, count, count + 1]]) {
          const { weights, biases } = await rnn.paramsToCanonical(params, new Set(selection))
          expect([weights.length, biases.length]).toEqual([count, canonical.biases.length])
          for (const [number, tensor] of [...weights, ...biases].entries()) {
            const { data, shape } = selection.includes(number) ? expected[number] : { data: [], shape: [0] }
            expect(Array.from(tensor.data)).toEqual(Array.from(data))
            expect(tensor.shape).toEqual(shape)
            expect(tensor.data.constructor).toBe(expected[number].data.constructor)
          }
        }
      }
    })

    test.each(MODES)('%s: inference equals a training forward at dropout 0, and has no tape', async (cellMode) => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode }, [3, 5, 1])
      const training = await network.forward(true)
      const inference = await network.forward(false)
      expect(inference.tape).toBeUndefined()
      const expected = await readAll(training)
      for (const [name, values] of Object.entries(await readAll(inference))) {
        expectAllclose(name, values, expected[name], tolerance)
      }
    })

    test.each(MODES)('%s: a state left out is zeros, and so is a gradient left out', async (cellMode) => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode })
      const zeros = ({ shape }: { shape: readonly number[] }) => backend.zeros(shape)
      const { inputs, rnn, params, outputGradients } = network
      const common = { input: inputs.input, params, sequenceLengths: null, training: true }
      const left = await rnn.forward({ ...common, inputH: null, inputC: null })
      const given = await rnn.forward({
        ...common,
        inputH: zeros(inputs.inputH),
        inputC: inputs.inputC && zeros(inputs.inputC),
      })
      expectAllAllclose(await readAll(left), await readAll(given), tolerance)
      for (const [name, gradient] of Object.entries(outputGradients)) {
        const [first, second] = [await network.forward(true), await network.forward(true)]
        const without = await readAll(await rnn.backward(first.tape, { ...outputGradients, [name]: undefined }))
        const withZeros = await readAll(
          await rnn.backward(second.tape, { ...outputGradients, [name]: zeros(gradient) }),
        )
        expectAllAllclose(without, withZeros, tolerance)
      }
    })

    test.each(MODES)('%s: two forwards in flight serve their backwards in either order', async (cellMode) => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode })
      const other = { input: backend.zeros([SMALL_TIME, SMALL_BATCH, 2]) }
      const alone = [
        await readAll(await network.backward(await network.forward(true))),
        await readAll(await network.backward(await network.forward(true, other))),
      ]
      const first = await network.forward(true)
      const second = await network.forward(true, other)
      expect(await readAll(await network.backward(second))).toEqual(alone[1])
      expect(await readAll(await network.backward(first))).toEqual(alone[0])
    })

    test('lengths equal to T have no effect, and rows are independent', async () => {
      using backend = await open()
      const full = smallNetwork(backend, { cellMode: 'lstm' }, [SMALL_TIME, SMALL_TIME, SMALL_TIME])
      expect(await readAll(await full.forward(false))).toEqual(
        await readAll(await smallNetwork(backend, { cellMode: 'lstm' }).forward(false)),
      )
      const ragged = smallNetwork(backend, { cellMode: 'lstm', direction: 'bidirectional' }, [2, 5, 0])
      const before = await readAll(await ragged.forward(false))
      const gradients = await readAll(await ragged.backward(await ragged.forward(true)))
      // Values past a row's end must not matter, NaN included.
      const input = poisoned(ragged.inputs.input, [2, 5, 0])
      expect(await readAll(await ragged.forward(false, { input }))).toEqual(before)
      const { tape } = await ragged.forward(true, { input })
      const output = poisoned(ragged.outputGradients.output, [2, 5, 0])
      expect(await readAll(await ragged.rnn.backward(tape, { ...ragged.outputGradients, output }))).toEqual(gradients)
    })

    test('the gradient of the parameters has their size and their layout', async () => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'gru' })
      const gradients = await network.backward(await network.forward(true))
      expect(gradients.params.shape).toEqual([network.rnn.paramsSize])
      expect(gradients.params.layout).toBe(network.params.layout)
    })
  })
}

/** A copy of a sequence tensor [T,B,·] with NaN at every step past a row's length. */
function poisoned({ data, shape }: Tensor, lengths: readonly number[]): Tensor {
  const copy = { data: data.slice(), shape }
  const [time = 0, batch = 0, columns = 0] = shape
  for (let t = 0; t < time; t++) {
    for (const [row, length] of lengths.entries()) {
      if (t >= length) copy.data.fill(Number.NaN, (t * batch + row) * columns, (t * batch + row + 1) * columns)
    }
  }
  return copy
}
