import type { BackendTensor } from '@cudnn-rnn/ops'
import { describe, expect, it } from 'vitest'
import { type HostTensor, KERNEL_OPERATIONS } from '../../../src/executor/index.js'
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
