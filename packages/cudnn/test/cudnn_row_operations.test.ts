import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'
import { counted, f32, i32, SEQUENCE, values } from './kernel_values.js'

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

describe.skipIf(gpu.problem !== undefined)(`operations of rows on cuDNN (${gpu.problem ?? 'CUDA emulator'})`, () => {
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
})
