import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { ACTIVATIONS, ELEMENT_LOSSES, POOLINGS, type Pooling } from '@cudnn-rnn/ops/executor'
import { describe, expect, test } from 'vitest'
import fixture from '../../../fixtures/rnn/pytorch_layers.json'
import { expectAllclose } from './closeness.js'
import { directionsOf, slopeAlong } from './directions.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { filled } from './fills.js'
import { decodeFloat64 } from './fixture_case.js'

const { rows, columns, time, batch, features, lengths } = fixture.sizes
const SEQUENCE = [time, batch, features]
const EPSILON = 1e-3
/** `last` takes this column from step 0. */
const REVERSED_FROM = 2
/** All steps of every row, and unequal lengths. */
const LENGTHS = [null, { data: Int32Array.from(lengths), shape: [batch] }] as const
const poolOptions = (pooling: Pooling) => ({ pooling, reversedFrom: REVERSED_FROM })

/** The operations of layers against PyTorch: fixtures/rnn/make_pytorch_layers.py. */
export function registerLayerConformance({ open, dtype, tolerance, extent }: ExecutorUnderTest): void {
  const make = (name: Parameters<typeof filled>[0], shape: readonly number[], scale = 1) =>
    filled(name, shape, dtype, { scale })
  const expectTensor = async (name: string, tensor: BackendTensor, expected: string) =>
    expectAllclose(name, (await tensor.read()).data, decodeFloat64(expected), tolerance)

  describe('operations of layers agree with PyTorch', () => {
    test.each(ACTIVATIONS)('activate: %s', async (activation) => {
      using backend = await open()
      const expected = fixture.activations[activation]
      const y = backend.ops.activate(make('x', [rows, columns], 3), activation)
      await expectTensor('y', y, expected.y)
      const dx = backend.ops.activationGradient(y, make('dOutput', [rows, columns]), activation)
      await expectTensor('∂x', dx, expected.gradInput)
    })

    test('activate: relu with a maximum', async () => {
      using backend = await open()
      const { maximum, y: expected, gradInput } = fixture.boundedRelu
      const y = backend.ops.activate(make('x', [rows, columns], 3), 'relu', { maximum })
      await expectTensor('y', y, expected)
      const dx = backend.ops.activationGradient(y, make('dOutput', [rows, columns]), 'relu', { maximum })
      await expectTensor('∂x', dx, gradInput)
    })

    test('multiply', async () => {
      using backend = await open()
      const { ops } = backend
      const [a, b, dy] = [
        make('x', [rows, columns]),
        make('weights', [rows, columns]),
        make('dOutput', [rows, columns]),
      ]
      await expectTensor('y', ops.multiply(a, b), fixture.product.y)
      await expectTensor('∂a', ops.multiply(dy, b), fixture.product.gradA)
      await expectTensor('∂b', ops.multiply(a, dy), fixture.product.gradB)
    })

    test('reshape copies the elements in their order', async () => {
      using backend = await open()
      const x = make('x', [2, 3, 4])
      const y = await backend.ops.reshape(backend.tensor(x), [6, 4]).read()
      expect(y).toEqual({ data: x.data, shape: [6, 4] })
      const z = await backend.ops.reshape(x, [24]).read()
      expect(z).toEqual({ data: x.data, shape: [24] })
    })

    test('layerNorm, over any leading dimensions', async () => {
      using backend = await open()
      const gamma = make('weights', [columns])
      for (const leading of [[rows], [2, rows / 2]]) {
        const x = make('x', [...leading, columns], 3)
        const y = backend.ops.layerNorm(x, gamma, make('biases', [columns]), { epsilon: EPSILON })
        expect(y.shape).toEqual([...leading, columns])
        await expectTensor('y', y, fixture.layerNorm.y)
        const dy = make('dOutput', [...leading, columns])
        const gradients = backend.ops.layerNormGradients(x, gamma, dy, { epsilon: EPSILON })
        await expectTensor('∂x', gradients.input, fixture.layerNorm.gradInput)
        await expectTensor('∂gamma', gradients.gamma, fixture.layerNorm.gradGamma)
        await expectTensor('∂beta', gradients.beta, fixture.layerNorm.gradBeta)
      }
    })

    test.each(POOLINGS)('poolSequence: %s', async (pooling) => {
      using backend = await open()
      for (const [index, each] of LENGTHS.entries()) {
        const expected = fixture.pooling[pooling][index]
        const x = make('x', SEQUENCE)
        await expectTensor('y', backend.ops.poolSequence(x, each, poolOptions(pooling)), expected.y)
        const dy = make('dOutput', [batch, features])
        const dx = backend.ops.poolSequenceGradient(x, each, dy, poolOptions(pooling))
        await expectTensor('∂x', dx, expected.gradInput)
      }
    })

    test('reverseSequence, its own gradient', async () => {
      using backend = await open()
      for (const [index, each] of LENGTHS.entries()) {
        const expected = fixture.reverse[index]
        await expectTensor('y', backend.ops.reverseSequence(make('x', SEQUENCE), each), expected.y)
        await expectTensor('∂x', backend.ops.reverseSequence(make('dOutput', SEQUENCE), each), expected.gradInput)
      }
    })

    test('attend', async () => {
      using backend = await open()
      for (const [index, each] of LENGTHS.entries()) {
        const expected = fixture.attention[index]
        const x = make('x', SEQUENCE)
        const { output, weights } = backend.ops.attend(x, make('weights', [time, batch, 1], 4), each)
        await expectTensor('y', output, expected.y)
        await expectTensor('weights', weights, expected.weights)
        const gradients = backend.ops.attendGradients(x, weights, make('dOutput', [batch, features]))
        await expectTensor('∂x', gradients.input, expected.gradInput)
        await expectTensor('∂scores', gradients.scores, expected.gradScores)
      }
    })

    test.each(ELEMENT_LOSSES)('elementLoss: %s', async (loss) => {
      using backend = await open()
      for (const expected of fixture.losses[loss]) {
        const rowWeights = expected.weights?.map(Number)
        const weights = rowWeights && { data: make('x', [rows]).data.map((_, n) => rowWeights[n]), shape: [rows] }
        const [p, targets] = [make('x', [rows, columns], 3), make('weights', [rows, columns])]
        const result = backend.ops.elementLoss(p, targets, loss, weights)
        expect(result.loss.shape).toEqual([])
        expectAllclose('loss', (await result.loss.read()).data, [expected.loss], tolerance)
        await expectTensor('∂p', result.gradient, expected.gradPredictions)
      }
    })

    test('concat, and columns that take it apart', async () => {
      using backend = await open()
      const parts = [make('x', [2, 3, 4]), make('weights', [2, 3, 1]), make('biases', [2, 3, 2])]
      const joined = backend.ops.concat(parts)
      expect(joined.shape).toEqual([2, 3, 7])
      let begin = 0
      for (const part of parts) {
        const count = part.shape[2]
        const taken = await backend.ops.columns(joined, begin, count).read()
        expect(taken).toEqual({ data: part.data, shape: part.shape })
        begin += count
      }
    })

    test('dropout draws a mask by seed and number, the same on every executor', async () => {
      using backend = await open()
      const ones = { data: make('x', [50, 21]).data.fill(1), shape: [50, 21] }
      const mask = async (seed: number, draw: number, rate = 0.3) =>
        Array.from((await backend.ops.dropout(ones, { rate, seed, draw }).read()).data)
      const first = await mask(7, 0)
      expect(first).toEqual(await mask(7, 0))
      expect(first).not.toEqual(await mask(7, 1))
      expect(first).not.toEqual(await mask(7, 2 ** 24))
      expect(first).not.toEqual(await mask(8, 0))
      expect(first).not.toEqual(await mask(7 + 2 ** 32, 0))
      const kept = dtype === 'float32' ? Math.fround(1 / 0.7) : 1 / 0.7
      expect(first.filter((value) => value !== 0)).toEqual(Array(DROPPED.kept).fill(kept))
      expect(first.slice(0, 12).map((value) => Number(value !== 0))).toEqual(DROPPED.first)
      expect((await mask(7, 0, 0)).every((value) => value === 1)).toBe(true)
      expect((await mask(7, 0, 1)).every((value) => value === 0)).toBe(true)
    })
  })

  describe('operations of layers keep values that are not finite in their places', () => {
    test('the maximum over time is NaN where a step is, and padding may hold anything', async () => {
      using backend = await open()
      const data = make('x', [3, 2, 1]).data
      // Row 0 has a NaN at step 1; row 1 has one past its length.
      data[2] = Number.NaN
      data[5] = Number.NaN
      const input = { data, shape: [3, 2, 1] }
      const ends = { data: Int32Array.of(3, 2), shape: [2] }
      for (const pooling of ['mean', 'max'] as const) {
        const pooled = await backend.ops.poolSequence(input, ends, { pooling }).read()
        expect(Array.from(pooled.data, Number.isNaN)).toEqual([true, false])
      }
      const scores = { data: data.slice(), shape: [3, 2, 1] }
      const { output, weights } = backend.ops.attend(input, scores, ends)
      expect(Array.from((await output.read()).data, Number.isNaN)).toEqual([true, false])
      const gradients = backend.ops.attendGradients(input, weights, make('dOutput', [2, 1]))
      expect(Array.from((await gradients.scores.read()).data, Number.isNaN)).toEqual([
        ...[true, false],
        ...[true, false],
        ...[true, false],
      ])
    })
  })

  if (dtype !== 'float64') return
  test('the gradients of layers equal numerical differentiation', async () => {
    using backend = await open()
    const { ops } = backend
    const ends = LENGTHS[1]
    const x = make('x', SEQUENCE)
    const [gamma, beta] = [make('weights', [features]), make('biases', [features])]
    const scores = make('weights', [time, batch, 1])
    const sequences = make('dOutput', SEQUENCE)
    const vectors = make('dOutput', [batch, features])
    const normalize = (input: TensorLike) => ops.layerNorm(input, gamma, beta, { epsilon: EPSILON })
    const mask = { rate: 0.4, seed: 3, draw: 5 }
    const cases: readonly (readonly [
      string,
      Tensor<FloatArray>,
      (input: TensorLike) => BackendTensor,
      Tensor<FloatArray>,
      BackendTensor,
    ])[] = [
      ...ACTIVATIONS.map((activation) => {
        const forward = (input: TensorLike) => ops.activate(input, activation)
        return [activation, x, forward, sequences, ops.activationGradient(forward(x), sequences, activation)] as const
      }),
      ['dropout', x, (input) => ops.dropout(input, mask), sequences, ops.dropout(sequences, mask)],
      ['layerNorm', x, normalize, sequences, ops.layerNormGradients(x, gamma, sequences, { epsilon: EPSILON }).input],
      ['reverse', x, (input) => ops.reverseSequence(input, ends), sequences, ops.reverseSequence(sequences, ends)],
      ...POOLINGS.map((pooling) => {
        const forward = (input: TensorLike) => ops.poolSequence(input, ends, { pooling })
        return [pooling, x, forward, vectors, ops.poolSequenceGradient(x, ends, vectors, { pooling })] as const
      }),
      ...(['input', 'scores'] as const).map((name) => {
        const at = name === 'input' ? x : scores
        const forward = (moved: TensorLike) =>
          ops.attend(name === 'input' ? moved : x, name === 'input' ? scores : moved, ends).output
        const { weights } = ops.attend(x, scores, ends)
        return [`attend, ${name}`, at, forward, vectors, ops.attendGradients(x, weights, vectors)[name]] as const
      }),
    ]
    const delta = 1e-5
    for (const [name, at, forward, dy, analytic] of cases) {
      const valueAlong = async (direction: ArrayLike<number>, distance: number) => {
        const data = at.data.map((value, index) => value + distance * direction[index])
        const y = (await forward({ data, shape: at.shape }).read()).data
        return Array.from(y).reduce((sum, value, k) => sum + value * dy.data[k], 0)
      }
      const gradient = (await analytic.read()).data
      expect(gradient.length).toBe(at.data.length)
      const directions = directionsOf(at.data.length, extent)
      const slopes: number[] = []
      for (const direction of directions) {
        slopes.push(((await valueAlong(direction, delta)) - (await valueAlong(direction, -delta))) / (2 * delta))
      }
      const expected = directions.map((direction) => slopeAlong(gradient, direction))
      expectAllclose(`∂/∂${name}`, slopes, expected, 1e-7)
    }
  })
}

/** Mask 0 of seed 7 at rate 0.3: how many of its 1050 elements are kept, and its beginning, by another Philox4x32-10. */
const DROPPED = { kept: 751, first: [1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1] } as const
