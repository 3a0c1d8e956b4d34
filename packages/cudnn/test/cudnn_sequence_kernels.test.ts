import { expectAllclose } from '@cudnn-rnn/conformance'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'
import { counted, f32, i32, SEQUENCE, values } from './kernel_values.js'

/** Tolerance of float32 results whose sums are float64 on the device. */
const TOLERANCE = 2e-6

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`sequences and losses on cuDNN (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  describe('sequences', () => {
    /** [T 3, B 2, E 2]; row 1 has the negative of row 0. */
    const x = () => f32([1, 10, -1, -10, 3, 30, -3, -30, 2, 20, -2, -20], ...SEQUENCE)

    it('without steps in a row give zeros, and no gradient, for any padding', async () => {
      await using backend = await open()
      const { ops } = backend
      const input = x()
      for (let k = 0; k < 12; k++) if (k % 4 >= 2) input.data[k] = Number.NaN
      const lengths = i32(2, 0)
      const dy = f32([1, 2, 4, 8], 2, 2)
      expect(await values(ops.reverseSequence(input, lengths))).toEqual([3, 30, 0, 0, 1, 10, 0, 0, 0, 0, 0, 0])
      for (const [pooling, pooled] of [
        ['last', [3, 30]],
        ['max', [3, 30]],
        ['mean', [2, 20]],
      ] as const) {
        expect(await values(ops.poolSequence(input, lengths, { pooling }))).toEqual([...pooled, 0, 0])
        const gradient = await values(ops.poolSequenceGradient(input, lengths, dy, { pooling }))
        const [first, second] =
          pooling === 'mean'
            ? [
                [0.5, 1],
                [0.5, 1],
              ]
            : [
                [0, 0],
                [1, 2],
              ]
        expect(gradient).toEqual([...first, 0, 0, ...second, 0, 0, 0, 0, 0, 0])
      }
      const scores = f32([0, Number.NaN, Math.log(3), Number.NaN, Number.NaN, Number.NaN], 3, 2, 1)
      const { output, weights } = ops.attend(input, scores, lengths)
      expectAllclose('weights', await values(weights), [0.25, 0, 0.75, 0, 0, 0], TOLERANCE)
      expectAllclose('output', await values(output), [2.5, 25, 0, 0], TOLERANCE)
      const gradients = ops.attendGradients(input, weights, dy)
      // dweights of row 0: 1·1 + 10·2 = 21 and 3·1 + 30·2 = 63; their mean under the weights is 52.5.
      expectAllclose('∂scores', await values(gradients.scores), [0.25 * -31.5, 0, 0.75 * 10.5, 0, 0, 0], TOLERANCE)
      const inputGradient = [0.25, 0.5, 0, 0, 0.75, 1.5, 0, 0, 0, 0, 0, 0]
      expectAllclose('∂x', await values(gradients.input), inputGradient, TOLERANCE)
    })

    it('with lengths on the device that are out of range are taken within their range', async () => {
      await using backend = await open()
      const { ops } = backend
      const lengths = backend.tensor(i32(100, -7))
      expect(await values(ops.poolSequence(x(), lengths, { pooling: 'last' }))).toEqual([2, 20, 0, 0])
      expect(await values(ops.reverseSequence(x(), lengths))).toEqual([2, 20, 0, 0, 3, 30, 0, 0, 1, 10, 0, 0])
    })

    it('end at step 0 in the columns of a backward direction', async () => {
      await using backend = await open()
      const { ops } = backend
      const options = { pooling: 'last', reversedFrom: 1 } as const
      expect(await values(ops.poolSequence(x(), i32(2, 1), options))).toEqual([3, 10, -1, -10])
      const dy = f32([1, 2, 3, 4], 2, 2)
      const gradient = await values(ops.poolSequenceGradient(x(), i32(2, 1), dy, options))
      expect(gradient).toEqual([0, 2, 3, 4, 1, 0, 0, 0, 0, 0, 0, 0])
      // The maximum has no direction.
      expect(await values(ops.poolSequence(x(), null, { ...options, pooling: 'max' }))).toEqual([3, 30, -1, -10])
    })

    it('give the gradient of a maximum to the first of equal steps, and of steps that are NaN', async () => {
      await using backend = await open()
      const input = f32([5, 1, Number.NaN, 5, Number.NaN, 2, 3, Number.NaN, 9], 3, 1, 3)
      const dy = f32([1, 2, 4], 1, 3)
      const pooled = await values(backend.ops.poolSequence(input, null, { pooling: 'max' }))
      expect(pooled).toEqual([5, Number.NaN, Number.NaN])
      const gradient = backend.ops.poolSequenceGradient(input, null, dy, { pooling: 'max' })
      expect(await values(gradient)).toEqual([1, 0, 4, 0, 2, 0, 0, 0, 0])
    })

    it('of very different scores put all weight on the largest', async () => {
      await using backend = await open()
      const scores = f32([-3e38, -3e38, 3e38, -Infinity, 0, -Infinity], 3, 2, 1)
      const { output, weights } = backend.ops.attend(x(), scores, null)
      expect(await values(weights)).toEqual([0, 1, 1, 0, 0, 0])
      expect(await values(output)).toEqual([3, 30, -1, -10])
    })

    it('longer than a block are weighed as a whole', async () => {
      await using backend = await open()
      const time = 700
      const input = counted(time, (t) => t, time, 1, 1)
      const { output, weights } = backend.ops.attend(
        input,
        counted(time, () => 4, time, 1, 1),
        i32(601),
      )
      const expected = Array.from({ length: time }, (_, t) => (t < 601 ? 1 / 601 : 0))
      expectAllclose('weights', await values(weights), expected, 1e-8)
      // The mean of 0..600.
      expectAllclose('output', await values(output), [300], TOLERANCE)
    })
  })

  describe('concat and columns', () => {
    it('join parts of any widths and leading dimensions, one of them twice', async () => {
      await using backend = await open()
      const part = backend.tensor(f32([1, 2, 3, 4], 2, 1, 2))
      const joined = backend.ops.concat([part, f32([5, 6], 2, 1, 1), part])
      expect(joined.shape).toEqual([2, 1, 5])
      expect(await values(joined)).toEqual([1, 2, 5, 1, 2, 3, 4, 6, 3, 4])
      expect(await values(backend.ops.columns(joined, 4, 1))).toEqual([2, 4])
      expect((await backend.ops.columns(joined, 0, 5).read()).data).toEqual((await joined.read()).data)
    })

    it('of no rows give no elements', async () => {
      await using backend = await open()
      const none = f32([], 0, 3)
      expect(await backend.ops.concat([none, none]).read()).toEqual({ data: new Float32Array(0), shape: [0, 6] })
      expect(await backend.ops.columns(none, 1, 2).read()).toEqual({ data: new Float32Array(0), shape: [0, 2] })
    })
  })

  it('no rows give no elements, and gradients of zeros', async () => {
    await using backend = await open()
    const { ops } = backend
    const none = f32([], 0, 3)
    const three = f32([1, 2, 3])
    expect((await ops.activate(none, 'softmax').read()).shape).toEqual([0, 3])
    expect((await ops.layerNorm(none, three, three, { epsilon: 1 }).read()).shape).toEqual([0, 3])
    const gradients = ops.layerNormGradients(none, three, none, { epsilon: 1 })
    expect(await values(gradients.gamma)).toEqual([0, 0, 0])
    expect(await values(gradients.beta)).toEqual([0, 0, 0])
  })

  describe('elementLoss', () => {
    it('is 0 without gradient where every weight is 0, for any rows', async () => {
      await using backend = await open()
      for (const rule of ['squared_error', 'absolute_error', 'sigmoid_cross_entropy'] as const) {
        const { loss, gradient } = backend.ops.elementLoss(
          f32([Number.NaN, Infinity], 2, 1),
          f32([0, 0], 2, 1),
          rule,
          f32([0, 0]),
        )
        expect([...(await values(loss)), ...(await values(gradient))]).toEqual([0, 0, 0])
      }
    })

    it('leaves rows of weight 0 out and weighs the others by their share', async () => {
      await using backend = await open()
      const predictions = f32([1, 2, Number.NaN, Infinity, 3, 5], 3, 2)
      const { loss, gradient } = backend.ops.elementLoss(
        predictions,
        f32([0, 0, 0, 0, 0, 0], 3, 2),
        'squared_error',
        f32([1, 0, 3]),
      )
      // (1·(1 + 4) + 3·(9 + 25)) / (4 rows · 2 columns)
      expect(await values(loss)).toEqual([107 / 8])
      expect(await values(gradient)).toEqual([0.25, 0.5, 0, 0, 2.25, 3.75])
    })

    it('of the absolute error has no gradient where prediction and target are equal, and NaN where one is NaN', async () => {
      await using backend = await open()
      const { gradient } = backend.ops.elementLoss(
        f32([1, 2, 3, Number.NaN], 4, 1),
        f32([1, 5, -5, 1], 4, 1),
        'absolute_error',
      )
      expect(await values(gradient)).toEqual([0, -0.25, 0.25, Number.NaN])
    })

    it('of a sigmoid is finite for logits of any size', async () => {
      await using backend = await open()
      const logits = f32([1e4, -1e4, 1e4, -1e4], 4, 1)
      const { loss, gradient } = backend.ops.elementLoss(logits, f32([1, 0, 0, 1], 4, 1), 'sigmoid_cross_entropy')
      expect(await values(loss)).toEqual([5000])
      expect(await values(gradient)).toEqual([0, 0, 0.25, -0.25])
    })

    it('keeps small rows beside a large one: sums are float64', async () => {
      await using backend = await open()
      const count = 4096
      // One row of 2^24, and 4095 of 1: each is lost in a float32 sum that begins with the large one.
      const predictions = counted(count, (n) => (n === 0 ? 4096 : 1), count, 1)
      const { loss } = backend.ops.elementLoss(
        predictions,
        counted(count, () => 0, count, 1),
        'squared_error',
      )
      expect(await values(loss)).toEqual([Math.fround((2 ** 24 + 4095) / 4096)])
    })
  })
})
