import { expectAllclose } from '@cudnn-rnn/conformance'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'
import { counted, f32, values } from './kernel_values.js'

const NaNs = (actual: readonly number[]) => actual.map(Number.isNaN)

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`kernels of rows on cuDNN (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  // A block has 256 threads: less than a block, a whole one, and one and a part for each row.
  it.each([1, 2, 255, 256, 257, 600])('rows of %i columns are reduced as a whole', async (columns) => {
    await using backend = await open()
    const { ops } = backend
    const n = columns
    // ln 1, ln 2, …: the softmax is k/(1 + … + n). The second row is shifted, which changes nothing.
    const logits = counted(2 * n, (k) => Math.log((k % n) + 1) + (k < n ? 0 : 50), 2, n)
    const expected = Array.from({ length: 2 * n }, (_, k) => (2 * ((k % n) + 1)) / (n * (n + 1)))
    const softmax = ops.activate(logits, 'softmax')
    expectAllclose('softmax', await values(softmax), expected, 2e-5)
    // A gradient that is the same in every column passes nothing: the sum of a softmax is constant.
    const flat = ops.activationGradient(
      softmax,
      counted(2 * n, () => 3, 2, n),
      'softmax',
    )
    expectAllclose('∂softmax', await values(flat), Array(2 * n).fill(0), 1e-5)

    // 0, 1, …, n - 1 has mean (n - 1)/2 and variance (n² - 1)/12.
    const ramp = counted(2 * n, (k) => (k % n) + (k < n ? 0 : 1000), 2, n)
    const scale = 1 / Math.sqrt((n * n - 1) / 12 + 0.25)
    const centered = Array.from({ length: 2 * n }, (_, k) => ((k % n) - (n - 1) / 2) * scale)
    const gamma = counted(n, () => 2)
    const beta = counted(n, () => -1)
    const normalized = ops.layerNorm(ramp, gamma, beta, { epsilon: 0.25 })
    expectAllclose(
      'layerNorm',
      await values(normalized),
      centered.map((value) => 2 * value - 1),
      1e-6,
    )
    const ones = counted(2 * n, () => 1, 2, n)
    const gradients = ops.layerNormGradients(ramp, gamma, ones, { epsilon: 0.25 })
    expectAllclose('∂x', await values(gradients.input), Array(2 * n).fill(0), 1e-6)
    // Two rows with the same normalized values.
    expectAllclose(
      '∂gamma',
      await values(gradients.gamma),
      centered.slice(0, n).map((value) => 2 * value),
      1e-6,
    )
    expect(await values(gradients.beta)).toEqual(Array(n).fill(2))

    const loss = ops.elementLoss(
      ramp,
      counted(2 * n, (k) => (k % n) + (k < n ? 2 : 1001), 2, n),
      'squared_error',
    )
    expect(await values(loss.loss)).toEqual([2.5])
  })

  it('arrays with more elements than threads on the device are computed to their end', async () => {
    // 8 blocks of 256 threads.
    libraries.configure('multiprocessors=1')
    await using backend = await open()
    const { ops } = backend
    const count = 8 * 256 * 2 + 3
    const x = counted(count, (k) => k - 2000, 1, count)
    const ramp = Array.from(x.data)
    expect(await values(ops.activate(x, 'relu'))).toEqual(ramp.map((value) => Math.max(value, 0)))
    expect(await values(ops.multiply(x, x))).toEqual(ramp.map((value) => value * value))
    expect(await values(ops.columns(x, 1, count - 1))).toEqual(ramp.slice(1))
    const reversed = ops.reverseSequence({ data: x.data, shape: [count, 1, 1] }, null)
    expect(await values(reversed)).toEqual(ramp.toReversed())
    const pooled = ops.poolSequence({ data: x.data, shape: [1, 1, count] }, null, { pooling: 'mean' })
    expect(await values(pooled)).toEqual(ramp)
  })

  it('activations are exact at their corners and keep NaN', async () => {
    await using backend = await open()
    const { ops } = backend
    const x = f32([Number.NaN, -Infinity, -80, -1, 0, 1, 80, Infinity])
    const activated = async (
      ...args: Parameters<typeof ops.activate> extends [unknown, ...infer Rest] ? Rest : never
    ) => values(ops.activate(x, ...args))
    expect(await activated('relu')).toEqual([Number.NaN, 0, 0, 0, 0, 1, 80, Infinity])
    expect(await activated('relu', { maximum: 1 })).toEqual([Number.NaN, 0, 0, 0, 0, 1, 1, 1])
    expect(await activated('tanh')).toEqual([
      Number.NaN,
      -1,
      -1,
      Math.fround(Math.tanh(-1)),
      0,
      Math.fround(Math.tanh(1)),
      1,
      1,
    ])
    const sigmoid = await activated('sigmoid')
    expect(sigmoid.slice(1, 2).concat(sigmoid.slice(4, 5), sigmoid.slice(6))).toEqual([0, 0.5, 1, 1])
    // Formed as 1 - sigmoid(80) it would be 0.
    expect(sigmoid[2]).toBeGreaterThan(0)
    expect(await activated('elu')).toEqual([Number.NaN, -1, -1, Math.fround(Math.expm1(-1)), 0, 1, 80, Infinity])
    const softplus = await activated('softplus')
    expect([softplus[1], softplus[6], softplus[7]]).toEqual([0, 80, Infinity])
    expect(softplus[4]).toBeCloseTo(Math.LN2, 6)
    // A row with NaN is NaN, whichever column has it.
    const rowsWithNaN = f32([1, 2, Number.NaN, 1, 2, 3, Number.NaN, 5, 6], 3, 3)
    expect(NaNs(await values(ops.activate(rowsWithNaN, 'softmax')))).toEqual([
      ...[true, true, true],
      ...[false, false, false],
      ...[true, true, true],
    ])
  })

  it('the derivative of a bounded relu is 0 at both bounds, as that of TensorFlow', async () => {
    await using backend = await open()
    const y = f32([0, 0.5, 5.5, 6])
    const dy = f32([1, 2, 3, 4])
    expect(await values(backend.ops.activationGradient(y, dy, 'relu', { maximum: 6 }))).toEqual([0, 2, 3, 0])
    expect(await values(backend.ops.activationGradient(y, dy, 'relu'))).toEqual([0, 2, 3, 4])
  })

  it('an element of a dropout mask depends on its position alone, not on the size of the tensor', async () => {
    await using backend = await open()
    const mask = { rate: 0.4, seed: 2 ** 33 + 5, draw: 2 ** 25 + 1 }
    const ones = (count: number) => counted(count, () => 1)
    const long = await values(backend.ops.dropout(ones(1000), mask))
    for (const count of [1, 3, 5, 256, 257]) {
      expect(await values(backend.ops.dropout(ones(count), mask))).toEqual(long.slice(0, count))
    }
    // The values of dropped elements do not matter.
    const dropped = await values(backend.ops.dropout(f32([Number.NaN, Infinity, -Infinity]), { ...mask, rate: 1 }))
    expect(dropped).toEqual([0, 0, 0])
  })
})
