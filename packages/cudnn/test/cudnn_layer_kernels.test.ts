import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'
import { SEQUENCE, counted, f32, i32, values } from './kernel_values.js'

const NaNs = (actual: readonly number[]) => actual.map(Number.isNaN)

/** An operation: operands of the host, and the call with them or with tensors of the same values. */
interface Operation {
  readonly operands: readonly Tensor[]
  readonly run: (ops: Backend['ops'], operands: readonly TensorLike[]) => readonly BackendTensor[]
}

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
})
