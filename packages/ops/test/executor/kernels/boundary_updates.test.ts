import type { BackendTensor } from '@cudnn-rnn/ops'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { CHECKED_ROWS, type HostTensor, KERNEL_OPERATIONS } from '../../../src/executor/index.js'
import { ROW_NUMBERS } from '../../../src/executor/kernels/kernel_boundary.js'
import { zeros } from '../stub_tensor.js'
import { openNotingExecutor } from './noting_executor.js'

const opOf = (job: { readonly op: number }) => KERNEL_OPERATIONS[job.op]
const jobOf = (tensor: BackendTensor) => (tensor as HostTensor).job

describe('the updates of boundaryKernels', () => {
  const rate = { learningRate: 0.5 }
  type Opened = ReturnType<typeof openNotingExecutor>
  type Slots = readonly [HostTensor, HostTensor, HostTensor]

  // The numbers are in the order of native/cpu/src/dense/optimizer_updates.h.
  it.each<
    [string, number, number[], (ops: Opened['backend']['ops'], slots: Slots, g: ReturnType<typeof zeros>) => void]
  >([
    ['assign', 1, [], (ops, [x], g) => ops.assign(x, g)],
    ['addScaled', 1, [1], (ops, [x], g) => ops.accumulate(x, g)],
    ['addScaled', 1, [-0.5], (ops, [x], g) => ops.update('sgd', x, [], g, rate)],
    [
      'momentum',
      2,
      [0.5, 0.9, 0, 0],
      (ops, [x, v], g) => ops.update('momentum', x, [v], g, { ...rate, momentum: 0.9 }),
    ],
    [
      'momentum',
      2,
      [0.5, 0.9, 1, 1],
      (ops, [x, v], g) =>
        ops.update('momentum', x, [v], g, { ...rate, momentum: 0.9, nesterov: true, rateInVelocity: true }),
    ],
    [
      'adam',
      3,
      [0.5, 0.9, 0.999, 1e-8, 3, 0],
      (ops, [x, m, v], g) => ops.update('adam', x, [m, v], g, { ...rate, step: 3 }),
    ],
    [
      'rmsProp',
      3,
      [0.5, 0.9, 0, 1e-7, 0, 0],
      (ops, [x, m, v], g) => ops.update('rmsProp', x, [m, v], g, { ...rate, epsilon: 1e-7 }),
    ],
    [
      'rmsProp',
      3,
      [0.5, 0.8, 0.25, 1e-7, 1, 1],
      (ops, [x, m, v], g) =>
        ops.update('rmsProp', x, [m, v], g, {
          ...{ ...rate, decay: 0.8, momentum: 0.25, epsilon: 1e-7 },
          ...{ epsilonInRoot: true, rateInVelocity: true },
        }),
    ],
    ['adagrad', 2, [0.5, 1e-7, 0], (ops, [x, s], g) => ops.update('adagrad', x, [s], g, { ...rate, epsilon: 1e-7 })],
    [
      'adagrad',
      2,
      [0.5, 1e-7, 1],
      (ops, [x, s], g) => ops.update('adagrad', x, [s], g, { ...rate, epsilon: 1e-7, epsilonInRoot: true }),
    ],
    ['weightDecay', 1, [0.01], (ops, [x], g) => ops.update('weightDecay', x, [], g, { rate: 0.01 })],
  ])('%s writes %i tensors with the numbers %o', (rule, written, numbers, apply) => {
    const { backend, memory, jobs } = openNotingExecutor()
    const slots: Slots = [memory.zeros([2]), memory.zeros([2]), memory.zeros([2])]
    const gradient = { data: Float32Array.of(3, 4), shape: [2] }
    apply(backend.ops, slots, gradient)
    gradient.data.fill(0)
    const [{ name, job }] = jobs
    expect([name, opOf(job), [...job.numbers]]).toEqual(['run', rule, numbers])
    expect([job.results, [...job.counts]]).toEqual([written, [...new Array(written + 1).fill(2), 0]])
    expect(job.operands).toHaveLength(written + 1)
    for (let slot = 0; slot < written; slot++) expect(job.operands[slot]).toBe(slots[slot].live)
    expect(job.operands[written]).toEqual(Float32Array.of(3, 4))
    expect(slots.map(jobOf)).toEqual(slots.map((_, slot) => (slot < written ? 1 : 0)))
  })

  it('decay every element if there is no mask', () => {
    const { backend, memory, jobs } = openNotingExecutor()
    backend.ops.update('weightDecay', memory.zeros([2]), [], null, { rate: 0.25 })
    expect(jobs[0].job.operands[1]).toBeNull()
  })

  it('clip each tensor by its own operation', () => {
    const { backend, memory, jobs } = openNotingExecutor()
    const tensors = [memory.zeros([2]), memory.zeros([3])]
    backend.ops.clipByValue(tensors, 0.5)
    expect(jobs.map(({ job }) => [opOf(job), job.operands, [...job.numbers]])).toEqual(
      tensors.map(({ live: data }) => ['clip', [data], [0.5]]),
    )
    expect(tensors.map(jobOf)).toEqual([1, 2])
  })

  it('clip no tensor where one of them cannot be written', async () => {
    const { backend, memory, jobs } = openNotingExecutor()
    const [first, second] = [memory.zeros([2]), memory.zeros([3])]
    const { data } = await second.read()
    structuredClone(data, { transfer: [data.buffer as ArrayBuffer] })
    expect(() => backend.ops.clipByValue([first, second], 0.5)).toThrow(coded('ERR_TENSOR_TRANSFERRED'))
    expect(jobs).toEqual([])
    expect([first.version, first.job]).toEqual([0, 0])
  })

  it('assign integers at once: queued work has copies of them', () => {
    const { backend, jobs } = openNotingExecutor()
    const variable = backend.tensor({ data: Int32Array.of(1, 2), shape: [2] })
    backend.ops.assign(variable as never, { data: Int32Array.of(3, 4), shape: [2] })
    expect([...variable.live]).toEqual([3, 4])
    expect([jobs.length, variable.job, variable.version]).toEqual([0, 0, 1])
  })
})

describe('the operations of layers of boundaryKernels', () => {
  const lengths = (...values: number[]) => ({ data: Int32Array.from(values), shape: [values.length] })

  it('are one operation each: results, then operands, and numbers in the order of the kernels', () => {
    const { backend, jobs } = openNotingExecutor()
    const { output, weights } = backend.ops.attend(zeros(4, 2, 3), zeros(4, 2, 1), lengths(3, 4))
    const { loss, gradient } = backend.ops.elementLoss(zeros(2, 3), zeros(2, 3), 'sigmoid_cross_entropy')
    backend.ops.activate(zeros(5), 'relu', { maximum: 6 })
    backend.ops.dropout(zeros(2, 3), { rate: 0.5, seed: 2 ** 32 + 5, draw: 2 ** 24 + 7 })
    backend.ops.poolSequenceGradient(zeros(4, 2, 3), null, zeros(2, 3), { pooling: 'max' })
    expect(jobs.map(({ job }) => [opOf(job), job.results, [...job.counts], [...job.numbers], job.integers])).toEqual([
      ['attend', 2, [6, 8, 24, 8, 2], [4, 2, 3], Int32Array.of(3, 4)],
      ['elementLoss', 2, [1, 6, 6, 6, 2, 0], [2, 2, 3], null],
      ['activate', 1, [5, 5, 0], [2, 1, 5, 6], null],
      ['dropout', 1, [6, 6, 0], [6, 5, 1, 7, 1, 2 ** 23, 2], null],
      ['poolSequenceGradient', 1, [24, 24, 6, 2], [4, 2, 3, 2, 3], null],
    ])
    const written = [output, weights, loss, gradient].map((tensor) => (tensor as HostTensor).live)
    expect(written).toEqual(jobs.slice(0, 2).flatMap(({ job }) => job.operands.slice(0, 2)))
  })

  it('concatenate by one copy per input, each beside the one before', () => {
    const { backend, jobs } = openNotingExecutor()
    const output = backend.ops.concat([zeros(2, 3), zeros(2, 0), zeros(2, 4)]) as HostTensor
    backend.ops.columns(zeros(4, 2, 3), 1, 2)
    backend.ops.reshape(zeros(4, 2, 3), [8, 3])
    const flat = (count: number) => [...[1, 1, 1, count], ...[0, 0, 0, 0, 1], ...[0, 0, 0, 0, 1]]
    expect(jobs.map(({ job }) => [job.name, job.walk])).toEqual([
      ['copy', [...[1, 1, 2, 3], ...[0, 0, 0, 7, 1], ...[0, 0, 0, 3, 1]]],
      ['copy', flat(0)],
      ['copy', [...[1, 1, 2, 4], ...[3, 0, 0, 7, 1], ...[0, 0, 0, 4, 1]]],
      ['copy', [...[1, 1, 8, 2], ...[0, 0, 0, 2, 1], ...[1, 0, 0, 3, 1]]],
      ['copy', flat(24)],
    ])
    for (const { job } of jobs.slice(0, 3)) expect(job.operands[0]).toBe(output.live)
    expect([output.shape, output.job]).toEqual([[2, 7], 3])
  })

  it('have an operation of the kernels for every row of the host', () => {
    const own = CHECKED_ROWS.filter(({ row }) => row.isOfDevices === undefined).map(({ name }) => name)
    const { backend } = openNotingExecutor()
    expect(own.filter((name) => !(name in backend.ops))).toEqual([])
    expect(own).toEqual(expect.arrayContaining(Object.keys(ROW_NUMBERS)))
  })
})
