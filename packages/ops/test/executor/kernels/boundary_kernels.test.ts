import type { BackendTensor } from '@cudnn-rnn/ops'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { CHECKED_ROWS, type HostTensor, KERNEL_OPERATIONS } from '../../../src/executor/index.js'
import { ROW_NUMBERS } from '../../../src/executor/kernels/kernel_boundary.js'
import { ids, zeros } from '../stub_tensor.js'
import { openNotingExecutor } from './noting_executor.js'

const of = (...values: number[]) => ({ data: Float32Array.from(values), shape: [values.length] })
const opOf = (job: { readonly op: number }) => KERNEL_OPERATIONS[job.op]
const jobOf = (tensor: BackendTensor) => (tensor as HostTensor).job

describe('the operations of boundaryKernels', () => {
  it('read host tensors as they are at the call, and tensors of the executor where they are', () => {
    const { backend, jobs } = openNotingExecutor()
    const [input, kernel, bias] = [zeros(2, 3), backend.zeros([3, 4]), of(1, 2, 3, 4)]
    backend.ops.linear(input, kernel, bias)
    input.data.fill(9)
    bias.data.fill(9)
    const [{ job }] = jobs
    expect(job.operands).toEqual([new Float32Array(8), new Float32Array(6), kernel.live, Float32Array.of(1, 2, 3, 4)])
    expect(job.operands[2]).toBe(kernel.live)
    expect([opOf(job), [...job.numbers]]).toEqual(['linear', [2, 3, 4]])
  })

  it('return tensors that are read when their operation is done', async () => {
    const { backend, jobs, waited } = openNotingExecutor()
    backend.ops.linear(zeros(1, 2), zeros(2, 1), zeros(1))
    const output = backend.ops.linear(zeros(5, 2, 3), zeros(3, 4), zeros(4))
    jobs[1].job.operands[0].fill(7)
    expect(await output.read()).toEqual({ data: new Float32Array(40).fill(7), shape: [5, 2, 4] })
    expect(waited).toEqual([2])
  })

  it('give each gradient of a linear layer the shape of its operand', () => {
    const { backend, jobs } = openNotingExecutor()
    const gradients = backend.ops.linearGradients(zeros(5, 2, 3), zeros(3, 4), zeros(5, 2, 4))
    const shapes = [gradients.input, gradients.kernel, gradients.bias].map(({ shape }) => shape)
    expect(shapes).toEqual([[5, 2, 3], [3, 4], [4]])
    const [{ job }] = jobs
    expect([opOf(job), [...job.counts]]).toEqual(['linearGradients', [30, 12, 4, 30, 12, 40, 0]])
    expect(job.operands.map(({ length }: Float32Array) => length)).toEqual([30, 12, 4, 30, 12, 40])
    expect((gradients.kernel as HostTensor).live).toBe(job.operands[1])
  })

  it('look rows up and add their gradients, by copies of the ids', () => {
    const { backend, jobs } = openNotingExecutor()
    const given = { data: Int32Array.of(2, 0), shape: [2, 1] }
    const rows = backend.ops.embedding(zeros(3, 4), given)
    const table = backend.ops.embeddingGradient(3, given, zeros(2, 1, 4))
    given.data.fill(1)
    expect([rows.shape, table.shape]).toEqual([
      [2, 1, 4],
      [3, 4],
    ])
    for (const { job } of jobs) {
      expect([job.integers, [...job.numbers]]).toEqual([Int32Array.of(2, 0), [4, 3, 2]])
    }
    expect(jobs.map(({ job }) => [opOf(job), [...job.counts]])).toEqual([
      ['embedding', [8, 12, 2]],
      ['embeddingGradient', [12, 8, 2]],
    ])
  })

  it('compute the loss of rows without weights by null', () => {
    const { backend, jobs } = openNotingExecutor()
    const { loss, logitsGradient } = backend.ops.softmaxCrossEntropy(zeros(2, 3, 5), ids(2, 3))
    expect([...jobs[0].job.numbers]).toEqual([6, 5])
    backend.ops.softmaxCrossEntropy(zeros(2, 5), ids(2), of(1, 0))
    expect([loss.shape, logitsGradient.shape]).toEqual([[], [2, 3, 5]])
    expect(jobs.map(({ job }) => [opOf(job), job.operands[3], job.integers.length])).toEqual([
      ['softmaxCrossEntropy', null, 6],
      ['softmaxCrossEntropy', Float32Array.of(1, 0), 2],
    ])
    expect([...jobs[1].job.numbers]).toEqual([2, 5])
  })

  it.each([
    ['infinite', 0],
    ['nan', 1],
    ['zero', 2],
  ] as const)('give the CTC loss its rule for rows that are %s as number %i', async (infeasible, number) => {
    const { backend, jobs } = openNotingExecutor()
    const result = await backend.ops.ctcLoss(zeros(4, 2, 3), ids(2, 2), {
      ...{ labelLengths: [0, 0], logitLengths: [4, 3], blank: 2, infeasible },
    })
    expect(jobs[0].job).toMatchObject({ infeasible: number, blank: 2, time: 4, batch: 2, classes: 3 })
    expect([result.loss.shape, result.rowLosses.shape, result.logitsGradient.shape]).toEqual([[], [2], [4, 2, 3]])
  })

  it('scale by a finite norm alone: reading one waits for no tensor', () => {
    const { backend, memory, jobs } = openNotingExecutor()
    const tensors = [memory.zeros([2]), memory.zeros([3])]
    const norm = backend.ops.globalNorm(tensors)
    expect([jobOf(norm), ...tensors.map(jobOf)]).toEqual([1, 0, 0])
    const clipped = backend.ops.clipByGlobalNorm(tensors, 5)
    expect([jobOf(clipped), ...tensors.map(jobOf)]).toEqual([2, 2, 2])
    expect(jobs.map(({ job }) => job.maxNorm)).toEqual([Number.POSITIVE_INFINITY, 5])
    expect(jobs[1].job.tensors).toEqual(tensors.map(({ live: data }) => data))
  })

  it('leave counts and versions as they were when the kernels refuse', () => {
    const { backend, memory, state } = openNotingExecutor()
    const [variable, slot] = [memory.zeros([2]), memory.zeros([2])]
    const before = backend.stats()
    state.failure = new Error('the queue is closed')
    const { ops } = backend
    for (const refused of [
      () => ops.linear(zeros(1, 2), zeros(2, 2), zeros(2)),
      () => ops.linearGradients(zeros(1, 2), zeros(2, 2), zeros(1, 2)),
      () => ops.embedding(zeros(3, 2), ids(1)),
      () => ops.embeddingGradient(3, ids(1), zeros(1, 2)),
      () => ops.softmaxCrossEntropy(zeros(1, 2), ids(1)),
      () => ops.clipByGlobalNorm([variable], 1),
      () => ops.clipByValue([variable], 1),
      () => ops.assign(variable, zeros(2)),
      () => ops.accumulate(variable, zeros(2)),
      () => ops.update('adagrad', variable, [slot], zeros(2), { learningRate: 1, epsilon: 0 }),
    ]) {
      expect(refused).toThrow(state.failure)
    }
    expect(backend.stats()).toEqual(before)
    expect([variable, slot].map(({ version, job }) => [version, job])).toEqual([
      [0, 0],
      [0, 0],
    ])
  })
})

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

  it('decay every element where there is no mask', () => {
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
