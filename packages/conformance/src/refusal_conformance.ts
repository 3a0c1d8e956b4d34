import { required } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor } from '@cudnn-rnn/ops'
import type { RnnOptions } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import type { RnnForwardInputs } from '@cudnn-rnn/ops/executor'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { readAll, smallNetwork } from './small_network.js'

/** Wrong arguments and misused tapes: each has its code, and changes nothing. */
export function registerRefusalConformance({ open, dtype }: ExecutorUnderTest): void {
  const own = dtype === 'float64' ? Float64Array : Float32Array
  const other = dtype === 'float64' ? Float32Array : Float64Array
  const zeros = (...shape: number[]) => ({ data: new own(elementCount(shape)), shape })
  type Wrong = Partial<Record<keyof RnnForwardInputs, unknown>>

  const wrongForwards: readonly (readonly [string, string, Wrong])[] = [
    ['an input of rank 2', 'ERR_SHAPE', { input: zeros(15, 2) }],
    ['an input of another size', 'ERR_SHAPE', { input: zeros(5, 3, 4) }],
    ['an empty batch', 'ERR_EMPTY_BATCH', { input: zeros(5, 0, 2) }],
    ['more than 65,535 steps', 'ERR_TIME_STEPS', { input: zeros(65_536, 1, 2) }],
    ['elements that do not fill the shape', 'ERR_SHAPE', { input: { data: new own(3), shape: [5, 3, 2] } }],
    ['another dtype', 'ERR_DTYPE', { input: { data: new other(30), shape: [5, 3, 2] } }],
    ['integers', 'ERR_DTYPE', { input: { data: new Int32Array(30), shape: [5, 3, 2] } }],
    ['an array instead of a tensor', 'ERR_NOT_A_TENSOR', { input: [1, 2, 3] }],
    ['nothing', 'ERR_NOT_A_TENSOR', { input: undefined }],
    ['a state of another batch', 'ERR_SHAPE', { inputH: zeros(2, 4, 3) }],
    ['a cell state of other layers', 'ERR_SHAPE', { inputC: zeros(1, 3, 3) }],
    ['parameters of another size', 'ERR_SHAPE', { params: zeros(7) }],
    ['too few lengths', 'ERR_SEQUENCE_LENGTHS', { sequenceLengths: [5, 5] }],
    ['a length beyond T', 'ERR_SEQUENCE_LENGTHS', { sequenceLengths: [5, 6, 5] }],
    ['a negative length', 'ERR_SEQUENCE_LENGTHS', { sequenceLengths: [5, -1, 5] }],
    ['a length that is not an integer', 'ERR_SEQUENCE_LENGTHS', { sequenceLengths: [5, Number.NaN, 5] }],
    ['lengths that are not an array', 'ERR_SEQUENCE_LENGTHS', { sequenceLengths: 5 }],
  ]

  describe('refuses', () => {
    test.each(wrongForwards)('a forward with %s (%s)', async (_, code, wrong) => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'lstm', dropout: 0.5 })
      const state = await network.rnn.dropoutState()
      const stats = backend.stats()
      await expect(network.forward(true, wrong as never)).rejects.toThrow(coded(code))
      expect(backend.stats()).toEqual(stats)
      // Bytes of a device, which `toEqual` takes a fifth of a second to compare.
      expectAllclose('dropout state', await network.rnn.dropoutState(), state, 0)
    })

    test('a cell state on a cell that has none', async () => {
      using backend = await open()
      const { forward } = smallNetwork(backend, { cellMode: 'gru' })
      await expect(forward(true, { inputC: zeros(2, 3, 3) })).rejects.toThrow(coded('ERR_NO_CELL_STATE'))
    })

    test('parameters of another network, and tensors that were disposed', async () => {
      using backend = await open()
      // Equal sizes, other layouts: 24 elements each.
      const tanh = smallNetwork(backend, { cellMode: 'rnn_tanh' })
      const relu = smallNetwork(backend, { cellMode: 'rnn_relu' })
      await expect(tanh.forward(true, { params: relu.params })).rejects.toThrow(coded('ERR_OTHER_LAYOUT'))
      await expect(tanh.rnn.paramsToCanonical(relu.params)).rejects.toThrow(coded('ERR_OTHER_LAYOUT'))
      await expect(relu.rnn.paramsToCanonical(relu.params, [0] as never)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
      relu.params.dispose()
      await expect(relu.forward(true)).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
      await expect(relu.params.read()).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    })

    test("an executor's own tensor in the place of a host tensor", async () => {
      using backend = await open()
      expect(() => backend.tensor(backend.zeros([2]) as never)).toThrow(coded('ERR_NOT_A_TENSOR'))
    })

    test('canonical tensors of another number, size or dtype', async () => {
      using backend = await open()
      const { rnn, params } = smallNetwork(backend, { cellMode: 'gru' })
      const { weights, biases } = await rnn.paramsToCanonical(params)
      const replaced = (tensor: object) => [{ ...weights[0], ...tensor }, ...weights.slice(1)]
      const convert = (tensors: readonly unknown[]) => () =>
        rnn.canonicalToParams({ weights: tensors as never, biases })
      expect(convert(weights.slice(1))).toThrow(coded('ERR_CANONICAL_COUNT'))
      expect(convert(replaced({ data: new own(5) }))).toThrow(coded('ERR_CANONICAL_SIZE'))
      expect(convert(replaced({ data: new other(6) }))).toThrow(coded('ERR_CANONICAL_DTYPE'))
    })

    test('a network whose matrices have 2^31 elements or more', async () => {
      using backend = await open()
      const huge: RnnOptions = {
        cellMode: 'lstm',
        numLayers: 4,
        numUnits: 8192,
        inputSize: 8192,
        inputMode: 'linear_input',
      }
      expect(() => smallNetwork(backend, huge)).toThrow(coded('ERR_PARAMS_TOO_LARGE'))
      expect(backend.stats().rnns).toBe(0)
    })

    test('a tape used twice, disposed, missing, foreign, or stale', async () => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'lstm' })
      const { rnn, outputGradients } = network
      const used = await network.forward(true)
      await network.backward(used)
      await expect(network.backward(used)).rejects.toThrow(coded('ERR_TAPE_CONSUMED'))
      const disposed = await network.forward(true)
      disposed.tape?.dispose()
      await expect(network.backward(disposed)).rejects.toThrow(coded('ERR_TAPE_DISPOSED'))
      await expect(network.backward(await network.forward(false))).rejects.toThrow(coded('ERR_NO_TAPE'))
      const other = smallNetwork(backend, { cellMode: 'lstm' })
      const elsewhere = await other.forward(true)
      await expect(network.backward(elsewhere)).rejects.toThrow(coded('ERR_TAPE_FOREIGN'))
      const stale = await network.forward(true)
      backend.ops.update('sgd', network.params, [], backend.zeros(network.params.shape), { learningRate: 1 })
      await expect(network.backward(stale)).rejects.toThrow(coded('ERR_TAPE_STALE'))
      // Disposed while its backward is under way, it is used all the same.
      const both = await network.forward(true)
      const backward = network.backward(both)
      both.tape?.dispose()
      await expect(network.backward(both)).rejects.toThrow(coded('ERR_TAPE_CONSUMED'))
      await expect(other.backward(both)).rejects.toThrow(coded('ERR_TAPE_CONSUMED'))
      await backward
      await expect(network.backward(both)).rejects.toThrow(coded('ERR_TAPE_CONSUMED'))
      // A refused gradient leaves the tape open.
      const open_ = await network.forward(true)
      await expect(rnn.backward(open_.tape, { output: zeros(1, 1, 1) })).rejects.toThrow(coded('ERR_SHAPE'))
      expect(open_.tape?.state).toBe('open')
      expect(Object.keys(await readAll(await rnn.backward(open_.tape, outputGradients)))).toContain('params')
    })

    test.each(['params', 'input', 'inputH', 'inputC', 'output'])(
      'a tape whose %s was overwritten, even with the same values',
      async (name) => {
        using backend = await open()
        const network = smallNetwork(backend, { cellMode: 'lstm' })
        const { input, inputH, inputC } = network.inputs
        const given = {
          params: network.params,
          input: backend.tensor(input),
          inputH: backend.tensor(inputH),
          inputC: backend.tensor(required(inputC, 'an LSTM has a cell state')),
        }
        const result = await network.forward(true, given)
        const tensors: Readonly<Record<string, BackendTensor>> = { ...given, output: result.output }
        backend.ops.clipByGlobalNorm([tensors[name]], 1e6)
        await expect(network.backward(result)).rejects.toThrow(coded('ERR_TAPE_STALE'))
      },
    )

    test('a dropout state that it did not give', async () => {
      using backend = await open()
      for (const dropout of [0, 0.5]) {
        const { rnn } = smallNetwork(backend, { cellMode: 'gru', dropout })
        expect(() => rnn.restoreDropoutState(new Uint8Array(3))).toThrow(coded('ERR_DROPOUT_STATE'))
        rnn.restoreDropoutState(await rnn.dropoutState())
      }
    })

    test('everything after the network or the executor was disposed', async () => {
      const backend = await open()
      const network = smallNetwork(backend, { cellMode: 'gru' })
      network.rnn.dispose()
      await expect(network.forward(false)).rejects.toThrow(coded('ERR_RNN_DISPOSED'))
      backend.dispose()
      expect(() => backend.zeros([1])).toThrow(coded('ERR_BACKEND_DISPOSED'))
    })

    test('tensors of another executor', async () => {
      using backend = await open()
      using elsewhere = await open()
      const network = smallNetwork(backend, { cellMode: 'gru' })
      const foreign = elsewhere.zeros([5, 3, 2])
      await expect(network.forward(false, { input: foreign })).rejects.toThrow(coded('ERR_FOREIGN_TENSOR'))
      const ids = { data: new Int32Array(15), shape: [5, 3] }
      const stats = backend.stats()
      expect(() => backend.ops.embeddingGradient(4, ids, foreign)).toThrow(coded('ERR_FOREIGN_TENSOR'))
      expect(backend.stats()).toEqual(stats)
      expect([backend.owns(foreign), elsewhere.owns(foreign)]).toEqual([false, true])
    })
  })

  test('an absent state or gradient may be undefined or null', async () => {
    using backend = await open()
    const network = smallNetwork(backend, { cellMode: 'lstm' })
    const { output } = network.outputGradients
    const results = []
    for (const absent of [null, undefined]) {
      const states = { inputH: absent, inputC: absent } as never
      const { tape, ...result } = await network.forward(true, states)
      const gradients = { output, outputH: absent, outputC: absent } as never
      results.push({
        ...(await readAll(result)),
        gradients: await readAll(await network.rnn.backward(tape, gradients)),
      })
    }
    expect(results[1]).toEqual(results[0])
  })

  test('disposing everything brings every counter back to zero', async () => {
    using backend = await open()
    for (let round = 0; round < 3; round++) {
      const network = smallNetwork(backend, { cellMode: 'lstm', dropout: 0.5 })
      const trained = await network.forward(true)
      const gradients = await network.backward(trained)
      const abandoned = await network.forward(true)
      expect(backend.stats().tapes).toBe(1)
      for (const part of [trained, gradients, abandoned].flatMap((result) => Object.values(result))) part?.dispose()
      network.params.dispose()
      network.rnn.dispose()
      expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    }
  })
}
