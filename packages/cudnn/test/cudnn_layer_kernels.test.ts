import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

/** Tolerance of float32 results whose sums are float64 on the device. */
const TOLERANCE = 2e-6

const f32 = (data: Iterable<number>, ...shape: number[]) => {
  const array = Float32Array.from(data)
  return { data: array, shape: shape.length > 0 ? shape : [array.length] }
}
const i32 = (...data: number[]) => ({ data: Int32Array.from(data), shape: [data.length] })
const counted = (length: number, value: (k: number) => number, ...shape: number[]) =>
  f32(
    Array.from({ length }, (_, k) => value(k)),
    ...shape,
  )
const values = async (tensor: BackendTensor) => Array.from((await tensor.read()).data)
const NaNs = (actual: readonly number[]) => actual.map(Number.isNaN)

/** An operation: operands of the host, and the call with them or with tensors of the same values. */
interface Operation {
  readonly operands: readonly Tensor[]
  readonly run: (ops: Backend['ops'], operands: readonly TensorLike[]) => readonly BackendTensor[]
}

const SEQUENCE = [3, 2, 2] as const
const sequence = () => counted(12, (k) => k - 5, ...SEQUENCE)
const rows = () => counted(6, (k) => k + 1, 2, 3)
const GATES = () => [f32([0.5, 1], 2, 1), f32([2, 4, 8]), f32([0.5, 1, 0]), f32([0.5, 0.25, 0.125])]
const variables = ([, period, phase, ratioOn]: readonly TensorLike[]) => ({ period, phase, ratioOn })

const OPERATIONS: Readonly<Record<string, Operation>> = {
  activate: { operands: [rows()], run: (ops, [x]) => [ops.activate(x, 'tanh')] },
  softmax: { operands: [rows()], run: (ops, [x]) => [ops.activate(x, 'softmax')] },
  'bounded relu': { operands: [rows()], run: (ops, [x]) => [ops.activate(x, 'relu', { maximum: 6 })] },
  activationGradient: { operands: [rows(), rows()], run: (ops, [y, dy]) => [ops.activationGradient(y, dy, 'elu')] },
  multiply: { operands: [rows(), rows()], run: (ops, [a, b]) => [ops.multiply(a, b)] },
  dropout: { operands: [rows()], run: (ops, [x]) => [ops.dropout(x, { rate: 0.5, seed: 1, draw: 2 })] },
  layerNorm: {
    operands: [rows(), f32([1, 2, 3]), f32([0, 0, 0])],
    run: (ops, [x, gamma, beta]) => [ops.layerNorm(x, gamma, beta, { epsilon: 1e-3 })],
  },
  layerNormGradients: {
    operands: [rows(), f32([1, 2, 3]), rows()],
    run: (ops, [x, gamma, dy]) => Object.values(ops.layerNormGradients(x, gamma, dy, { epsilon: 1e-3 })),
  },
  concat: { operands: [rows(), rows()], run: (ops, parts) => [ops.concat(parts)] },
  columns: { operands: [rows()], run: (ops, [x]) => [ops.columns(x, 1, 2)] },
  select: { operands: [rows(), f32([1]), f32([1, 2, 3])], run: (ops, [c, a, b]) => [ops.select(c, a, b)] },
  'sum of few': { operands: [rows()], run: (ops, [x]) => [ops.sum(x, { axes: [0] })] },
  'max of many': { operands: [counted(300, (k) => k, 2, 150)], run: (ops, [x]) => [ops.max(x, { axes: [-1] })] },
  pad: { operands: [rows()], run: (ops, [x]) => [ops.pad(x, [1, 0], [0, 2])] },
  oneHot: { operands: [i32(1, 0)], run: (ops, [ids]) => [ops.oneHot(ids, 3)] },
  normal: { operands: [], run: (ops) => [ops.normal([2, 3], { seed: 1, draw: 2 })] },
  maskSequence: { operands: [sequence(), i32(3, 1)], run: (ops, [x, n]) => [ops.maskSequence(x, n)] },
  reverseSequence: { operands: [sequence(), i32(3, 1)], run: (ops, [x, n]) => [ops.reverseSequence(x, n)] },
  poolSequence: {
    operands: [sequence(), i32(3, 1)],
    run: (ops, [x, n]) => [ops.poolSequence(x, n, { pooling: 'max' })],
  },
  poolSequenceGradient: {
    operands: [sequence(), i32(3, 1), f32([1, 2, 3, 4], 2, 2)],
    run: (ops, [x, n, dy]) => [ops.poolSequenceGradient(x, n, dy, { pooling: 'mean' })],
  },
  attend: {
    operands: [sequence(), counted(6, (k) => k, 3, 2, 1), i32(3, 1)],
    run: (ops, [x, scores, n]) => Object.values(ops.attend(x, scores, n)),
  },
  attendGradients: {
    operands: [sequence(), f32([0.5, 1, 0.25, 0, 0.25, 0], 3, 2, 1), f32([1, 2, 3, 4], 2, 2)],
    run: (ops, [x, weights, dy]) => Object.values(ops.attendGradients(x, weights, dy)),
  },
  phasedGate: {
    operands: GATES(),
    run: (ops, gate) => [ops.phasedGate!(gate[0], variables(gate), { leak: 0.1 })],
  },
  phasedGateGradients: {
    operands: [...GATES(), rows()],
    run: (ops, gate) => Object.values(ops.phasedGateGradients!(gate[0], variables(gate), gate[4], { leak: 0.1 })),
  },
  elementLoss: {
    operands: [rows(), rows(), f32([1, 2])],
    run: (ops, [p, y, w]) => Object.values(ops.elementLoss(p, y, 'squared_error', w)),
  },
}
const NAMES = Object.keys(OPERATIONS)

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`kernels of rows on cuDNN (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))
  const deviceBytes = () => libraries.report().live['device bytes']

  describe('of every operation', () => {
    it.each(NAMES)('%s gives the same for operands of the host and of the device', async (name) => {
      const { operands, run } = OPERATIONS[name]
      await using backend = await open()
      const own = operands.map((operand) => backend.tensor(operand))
      const onDevice = await Promise.all(run(backend.ops, own).map((result) => result.read()))
      const onHost = await Promise.all(run(backend.ops, operands).map((result) => result.read()))
      expect(onHost).toEqual(onDevice)
      // No kernel wrote into an operand.
      for (const [index, tensor] of own.entries()) expect((await tensor.read()).data).toEqual(operands[index].data)
    })

    it.each(NAMES)('%s leaves only its results on the device', async (name) => {
      const { operands, run } = OPERATIONS[name]
      await using backend = await open()
      const once = async () => {
        const results = run(backend.ops, operands)
        await Promise.all(results.map((result) => result.read()))
        const { bytes, tensors } = backend.stats()
        expect(bytes).toBe(results.reduce((sum, { shape }) => sum + 4 * elementCount(shape), 0))
        expect(tensors).toBe(results.length)
        for (const result of results) result.dispose()
        await backend.trimMemory()
        return deviceBytes()
      }
      const before = await once()
      expect(await once()).toBe(before)
      expect(backend.stats()).toMatchObject({ bytes: 0, tensors: 0 })
    })

    it.each(NAMES)(
      '%s reads operands that are disposed and arrays that are overwritten after the call',
      async (name) => {
        const { operands, run } = OPERATIONS[name]
        await using backend = await open()
        const expected = await Promise.all(run(backend.ops, operands).map((result) => result.read()))
        // The kernels have not run when the operands go.
        libraries.configure('slow=500')
        const own = operands.map((operand) => backend.tensor(operand))
        const fromDevice = run(backend.ops, own)
        for (const tensor of own) tensor.dispose()
        const copies = operands.map(({ data, shape }) => ({ data: data.slice(), shape }))
        const fromHost = run(backend.ops, copies)
        for (const { data } of copies) data.fill(77)
        libraries.configure('slow=0')
        for (const results of [fromDevice, fromHost]) {
          expect(await Promise.all(results.map((result) => result.read()))).toEqual(expected)
        }
      },
    )

    it.each(NAMES)('%s that fails rejects the reads of its results and gives its memory back', async (name) => {
      const { operands, run } = OPERATIONS[name]
      await using backend = await open()
      const own = operands.map((operand) => backend.tensor(operand))
      for (const [fault, code] of [
        ['cuLaunchKernel=1', 'ERR_CUDA'],
        ['cudaMallocAsync=2', 'ERR_OUT_OF_DEVICE_MEMORY'],
      ]) {
        libraries.configure(`fault.${fault}`)
        const results = run(backend.ops, own)
        for (const result of results) await expect(result.read()).rejects.toMatchObject({ code })
        libraries.configure(`fault.${fault.split('=')[0]}=0`)
        for (const result of results) result.dispose()
        // Operands are as they were, and the operation works again.
        for (const [index, tensor] of own.entries()) expect((await tensor.read()).data).toEqual(operands[index].data)
        for (const result of run(backend.ops, own)) {
          expect((await values(result)).every(Number.isFinite)).toBe(true)
          result.dispose()
        }
      }
      for (const tensor of own) tensor.dispose()
      expect(backend.stats()).toMatchObject({ bytes: 0, tensors: 0 })
    })
  })

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
