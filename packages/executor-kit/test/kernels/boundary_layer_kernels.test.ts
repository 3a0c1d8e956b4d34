import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { DROPOUT_COUNTER, type HostTensor } from '../../src/index.js'
import { LAYER_OPS } from '../../src/kernels/kernel_boundary.js'
import { zeros } from '../stub_tensor.js'
import { openNotingExecutor } from './noting_executor.js'

type Ops = ReturnType<typeof openNotingExecutor>['backend']['ops']

const lengths = (...values: number[]) => ({ data: Int32Array.from(values), shape: [values.length] })
const [T, B, E] = [4, 2, 3] as const
const sequence = () => zeros(T, B, E)

// The order of operands and numbers is that of native/cpu/src/dense/layer_ops.h.
const CASES: readonly {
  readonly name: string
  readonly run: (ops: Ops) => unknown
  readonly op: string
  readonly results: readonly (readonly number[])[]
  readonly reads: readonly (number | null)[]
  readonly numbers: readonly number[]
  readonly lengths?: readonly number[]
}[] = [
  {
    name: 'activate',
    run: (ops) => ops.activate(sequence(), 'sigmoid'),
    ...{ op: 'activate', results: [[T, B, E]], reads: [24], numbers: [1, 8, 3, Number.POSITIVE_INFINITY] },
  },
  {
    name: 'activate with a maximum',
    run: (ops) => ops.activate(zeros(5), 'relu', { maximum: 6 }),
    ...{ op: 'activate', results: [[5]], reads: [5], numbers: [2, 1, 5, 6] },
  },
  {
    name: 'activationGradient',
    run: (ops) => ops.activationGradient(zeros(2, 3), zeros(2, 3), 'softmax'),
    ...{ op: 'activationGradient', results: [[2, 3]], reads: [6, 6], numbers: [5, 2, 3, Number.POSITIVE_INFINITY] },
  },
  {
    name: 'multiply',
    run: (ops) => ops.multiply(zeros(2, 3), zeros(2, 3)),
    ...{ op: 'multiply', results: [[2, 3]], reads: [6, 6], numbers: [6] },
  },
  {
    name: 'multiply of scalars',
    run: (ops) => ops.multiply(zeros(), zeros()),
    ...{ op: 'multiply', results: [[]], reads: [1, 1], numbers: [1] },
  },
  {
    name: 'dropout',
    run: (ops) => ops.dropout(zeros(2, 3), { rate: 0.5, seed: 2 ** 32 + 5, draw: 2 ** 24 + 7 }),
    ...{ op: 'dropout', results: [[2, 3]], reads: [6], numbers: [6, 5, 1, 7, 1, 2 ** 23, 2] },
  },
  {
    name: 'layerNorm',
    run: (ops) => ops.layerNorm(sequence(), zeros(E), zeros(E), { epsilon: 1e-3 }),
    ...{ op: 'layerNorm', results: [[T, B, E]], reads: [24, 3, 3], numbers: [8, 3, 1e-3] },
  },
  {
    name: 'layerNormGradients',
    run: (ops) => {
      const { input, gamma, beta } = ops.layerNormGradients(sequence(), zeros(E), sequence(), { epsilon: 0 })
      return [input, gamma, beta]
    },
    ...{ op: 'layerNormGradients', results: [[T, B, E], [E], [E]], reads: [24, 3, 24], numbers: [8, 3, 0] },
  },
  {
    name: 'columns',
    run: (ops) => ops.columns(sequence(), 1, 2),
    ...{ op: 'copyColumns', results: [[T, B, 2]], reads: [24], numbers: [8, 2, 2, 0, 3, 1] },
  },
  {
    name: 'reshape',
    run: (ops) => ops.reshape(sequence(), [T * B, E]),
    ...{ op: 'copyColumns', results: [[T * B, E]], reads: [24], numbers: [8, 3, 3, 0, 3, 0] },
  },
  {
    name: 'reverseSequence',
    run: (ops) => ops.reverseSequence(sequence(), lengths(4, 0)),
    ...{ op: 'reverseSequence', results: [[T, B, E]], reads: [24], numbers: [T, B, E], lengths: [4, 0] },
  },
  {
    name: 'reverseSequence of whole rows',
    run: (ops) => ops.reverseSequence(sequence(), null),
    ...{ op: 'reverseSequence', results: [[T, B, E]], reads: [24], numbers: [T, B, E] },
  },
  {
    name: 'poolSequence',
    run: (ops) => ops.poolSequence(sequence(), lengths(1, 2), { pooling: 'last', reversedFrom: 2 }),
    ...{ op: 'poolSequence', results: [[B, E]], reads: [24], numbers: [T, B, E, 0, 2], lengths: [1, 2] },
  },
  {
    name: 'poolSequenceGradient',
    run: (ops) => ops.poolSequenceGradient(sequence(), null, zeros(B, E), { pooling: 'max' }),
    ...{ op: 'poolSequenceGradient', results: [[T, B, E]], reads: [24, 6], numbers: [T, B, E, 2, E] },
  },
  {
    name: 'attend',
    run: (ops) => {
      const { output, weights } = ops.attend(sequence(), zeros(T, B, 1), lengths(3, 4))
      return [output, weights]
    },
    ...{
      op: 'attend',
      results: [
        [B, E],
        [T, B, 1],
      ],
      reads: [24, 8],
      numbers: [T, B, E],
      lengths: [3, 4],
    },
  },
  {
    name: 'attendGradients',
    run: (ops) => {
      const { input, scores } = ops.attendGradients(sequence(), zeros(T, B, 1), zeros(B, E))
      return [input, scores]
    },
    ...{
      op: 'attendGradients',
      results: [
        [T, B, E],
        [T, B, 1],
      ],
      reads: [24, 8, 6],
      numbers: [T, B, E],
    },
  },
  {
    name: 'elementLoss',
    run: (ops) => {
      const { loss, gradient } = ops.elementLoss(sequence(), sequence(), 'absolute_error', zeros(T, B))
      return [loss, gradient]
    },
    ...{ op: 'elementLoss', results: [[], [T, B, E]], reads: [24, 24, 8], numbers: [1, 8, 3] },
  },
  {
    name: 'elementLoss without weights',
    run: (ops) => {
      const { loss, gradient } = ops.elementLoss(zeros(2, 3), zeros(2, 3), 'sigmoid_cross_entropy')
      return [loss, gradient]
    },
    ...{ op: 'elementLoss', results: [[], [2, 3]], reads: [6, 6, null], numbers: [2, 2, 3] },
  },
]

describe('BoundaryLayerKernels', () => {
  it.each(CASES)('$name is one operation', ({ run, op, results, reads, numbers, lengths: given }) => {
    const { backend, jobs } = openNotingExecutor()
    const returned = [run(backend.ops)].flat() as HostTensor[]
    expect(jobs.map(({ name }) => name)).toEqual(['layer'])
    const { job } = jobs[0]
    expect([LAYER_OPS[job.op], job.results, [...job.numbers]]).toEqual([op, results.length, numbers])
    expect(returned.map(({ shape }) => shape)).toEqual(results)
    for (const [index, tensor] of returned.entries()) {
      expect(tensor.data).toBe(job.operands[index])
      expect(tensor.job).toBe(1)
    }
    const sizes = job.operands.slice(results.length).map((operand: Float32Array | null) => operand?.length ?? null)
    expect(sizes).toEqual(reads)
    const counts = results.map((shape) => elementCount(shape))
    expect([...job.counts]).toEqual([...counts, ...reads.map((count) => count ?? 0)])
    expect(job.lengths && [...job.lengths]).toEqual(given ?? null)
  })

  it('concatenates by one copy per input, each beside the one before', () => {
    const { backend, jobs } = openNotingExecutor()
    const output = backend.ops.concat([zeros(2, 3), zeros(2, 0), zeros(2, 4)])
    expect(output.shape).toEqual([2, 7])
    expect(jobs.map(({ job }) => [...job.numbers])).toEqual([
      [2, 3, 7, 0, 3, 0],
      [2, 0, 7, 3, 0, 0],
      [2, 4, 7, 3, 4, 0],
    ])
    for (const { job } of jobs) expect(job.operands[0]).toBe(output.data)
    expect(output.job).toBe(3)
  })

  it('keeps the lengths of a call when their owner overwrites them', () => {
    const { backend, jobs } = openNotingExecutor()
    const given = lengths(1, 2)
    backend.ops.poolSequence(sequence(), given, { pooling: 'mean' })
    given.data.fill(9)
    expect([...jobs[0].job.lengths]).toEqual([1, 2])
  })

  it('counts no tensor of an operation that was refused', () => {
    const { backend, state } = openNotingExecutor()
    const before = backend.stats()
    state.failure = new Error('the queue is closed')
    for (const { run } of CASES) expect(() => run(backend.ops)).toThrow(state.failure)
    expect(() => backend.ops.concat([zeros(1)])).toThrow(state.failure)
    expect(backend.stats()).toEqual(before)
  })

  it('names every operation of a layer once', () => {
    expect(new Set(CASES.map(({ op }) => op))).toEqual(new Set(LAYER_OPS))
  })
})

describe('DROPOUT_COUNTER', () => {
  it('is apart from every draw: the upper word of the largest is below it', () => {
    expect(DROPOUT_COUNTER).toBeGreaterThan(2 ** 24 - 1)
    expect(DROPOUT_COUNTER + 2 ** 24 - 1).toBeLessThan(2 ** 32)
  })
})
