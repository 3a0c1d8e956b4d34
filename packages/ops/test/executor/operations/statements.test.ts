import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkedOperations, HostMemory, type HostTensor, type OperationKernels } from '../../../src/executor/index.js'
import { ids, zeros } from '../stub_tensor.js'

/** Operations whose kernels note their arguments, and throw if `failure` is set. */
function open() {
  const memory = new HostMemory('float32')
  const noted: unknown[][] = []
  const state: { failure?: Error } = {}
  const note =
    (kernel: string) =>
    (...given: unknown[]) => {
      if (state.failure) throw state.failure
      noted.push([kernel, ...given])
      return memory.zeros([])
    }
  const inPlace = ['norm', 'assign', 'clip', 'update'] as const
  const kernels = {
    ...Object.fromEntries(inPlace.map((name) => [name, note(name)])),
    readIds: ({ data }: { data: Int32Array }) => data.slice(),
  } as unknown as OperationKernels<HostTensor>
  return { memory, noted, state, ops: checkedOperations(memory, kernels) }
}

describe('statements', () => {
  it('gives its kernels complete options and the tensors to write and to read', () => {
    const { memory, noted, ops } = open()
    const [variable, velocity, gradient] = [memory.zeros([2]), memory.zeros([2]), zeros(2)]
    ops.update('momentum', variable, [velocity], gradient, { learningRate: 0.1, momentum: 0.9 })
    ops.update('sgd', variable, [], gradient, { learningRate: 0.5 })
    ops.update('weightDecay', variable, [], null, { rate: 0.01 })
    const momentum = { learningRate: 0.1, momentum: 0.9, nesterov: false, rateInVelocity: false }
    expect(noted).toEqual([
      ['update', { rule: 'momentum', ...momentum }, [variable, velocity], gradient, undefined],
      ['update', { rule: 'addScaled', scale: -0.5 }, [variable], gradient, undefined],
      ['update', { rule: 'weightDecay', rate: 0.01 }, [variable], undefined, undefined],
    ])
  })

  it('counts every write of a tensor, but none by a kernel that threw', () => {
    const { memory, state, ops } = open()
    const [variable, slot] = [memory.zeros([2]), memory.zeros([2])]
    const writes = () => {
      ops.update('adagrad', variable, [slot], zeros(2), { learningRate: 1, epsilon: 0 })
      ops.assign(variable, zeros(2))
      ops.clipByValue([variable, slot], 1)
      ops.clipByGlobalNorm([variable], 1)
    }
    writes()
    expect([variable.version, slot.version]).toEqual([4, 2])
    ops.globalNorm([variable])
    state.failure = new Error('no luck')
    expect(writes).toThrow(state.failure)
    expect([variable.version, slot.version]).toEqual([4, 2])
  })

  it('refuses wrong operands, foreign tensors and a disposed executor before a kernel runs', () => {
    const { memory, noted, ops } = open()
    const variable = memory.zeros([2])
    const foreign = new HostMemory('float32').zeros([2])
    const rate = { learningRate: 1 }
    expect(() => ops.update('sgd', variable, [], zeros(3), rate)).toThrow(coded('ERR_SHAPE'))
    expect(() => ops.update('sgd', variable, [], zeros(2), { learningRate: -1 })).toThrow(coded('ERR_HYPERPARAMETER'))
    expect(() => ops.update('sgd', foreign, [], zeros(2), rate)).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(() => ops.update('sgd', variable, [], foreign, rate)).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(() => ops.assign(variable, foreign)).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(() => ops.globalNorm([variable, foreign])).toThrow(coded('ERR_FOREIGN_TENSOR'))
    memory.dispose()
    expect(() => ops.assign(variable, zeros(2))).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect(noted).toEqual([])
    expect(variable.version).toBe(0)
  })
})

/** Statements whose kernel of updates notes its arguments. */
function openUpdates({ readsCounts = true } = {}) {
  const memory = new HostMemory('float32')
  const noted: unknown[][] = []
  const update = (...given: unknown[]) => void noted.push(['update', ...given])
  const kernels = { update, readsCounts } as unknown as OperationKernels<HostTensor>
  return { memory, noted, ops: checkedOperations(memory, kernels) }
}

describe('the step of Adam', () => {
  const slots = (memory: HostMemory) => [memory.zeros([2]), memory.zeros([2]), memory.zeros([2])] as const

  it('is a tensor where the executor reads it, whose ε is left as it is', () => {
    const { ops, noted, memory } = openUpdates()
    const [x, m, v] = slots(memory)
    const step = memory.zeros([])
    ops.update('adam', x, [m, v], zeros(2), { learningRate: 0.1, step, epsilon: 1e-3, epsilonHat: true })
    expect(noted[0][1]).toMatchObject({ rule: 'adam', step: Number.NaN, epsilon: 1e-3, epsilonHat: true })
    expect(noted[0][4]).toBe(step)
    expect([x.version, m.version, v.version, step.version]).toEqual([1, 1, 1, 0])
  })

  it('is a number elsewhere: a tensor is refused, and nothing is counted', () => {
    const { ops, noted, memory } = openUpdates({ readsCounts: false })
    const [x, m, v] = slots(memory)
    const step = memory.zeros([])
    expect(() => ops.update('adam', x, [m, v], zeros(2), { learningRate: 0.1, step })).toThrow(
      coded('ERR_HYPERPARAMETER'),
    )
    expect([noted, x.version]).toEqual([[], 0])
  })

  it.each<[string, (memory: HostMemory) => HostTensor, string]>([
    ['a vector', (memory) => memory.zeros([1]), 'ERR_SHAPE'],
    ['an integer', (memory) => memory.copyOf(ids()) as never, 'ERR_DTYPE'],
    ['of another executor', () => new HostMemory('float32').zeros([]), 'ERR_FOREIGN_TENSOR'],
  ])('is refused where it is %s', (_, make, code) => {
    const { ops, noted, memory } = openUpdates()
    const [x, m, v] = slots(memory)
    const apply = () => ops.update('adam', x, [m, v], zeros(2), { learningRate: 0.1, step: make(memory) })
    expect(apply).toThrow(coded(code))
    expect(noted).toEqual([])
  })
})

describe('tensors that statements write', () => {
  it('must be of the executor, live and of one shape, dtype and layout', () => {
    const { ops, memory, noted } = open()
    const variable = memory.zeros([2], 'lstm/1')
    const shared = memory.shared(memory.allocateShared(2), { shape: [2], layout: 'lstm/1', id: 'weights' })
    const disposed = memory.zeros([2])
    disposed.dispose()
    const sgd = (x: unknown, gradient: unknown) => () =>
      ops.update('sgd', x as HostTensor, [], gradient as HostTensor, { learningRate: 1 })
    for (const [run, code] of [
      [sgd(zeros(2), zeros(2)), 'ERR_NOT_A_TENSOR'],
      [sgd(shared, zeros(2)), 'ERR_SHARED_TENSOR'],
      [sgd(disposed, zeros(2)), 'ERR_TENSOR_DISPOSED'],
      [sgd(variable, memory.zeros([2], 'gru/1')), 'ERR_OTHER_LAYOUT'],
      [sgd(variable, ids(2)), 'ERR_DTYPE'],
      [sgd(variable, undefined), 'ERR_NOT_A_TENSOR'],
      [() => ops.clipByValue([variable, shared], 1), 'ERR_SHARED_TENSOR'],
      [() => ops.clipByGlobalNorm(variable as never, 1), 'ERR_NOT_A_TENSOR'],
      [() => ops.clipByGlobalNorm([variable], -1), 'ERR_HYPERPARAMETER'],
      [() => ops.clipByValue([variable], Number.NaN), 'ERR_HYPERPARAMETER'],
      [() => ops.globalNorm([memory.copyOf(ids(2)) as never]), 'ERR_DTYPE'],
      [() => ops.assign(shared, zeros(2)), 'ERR_SHARED_TENSOR'],
      [() => ops.assign(variable, zeros(3)), 'ERR_SHAPE'],
      [() => ops.accumulate(variable, zeros(2), Number.POSITIVE_INFINITY), 'ERR_HYPERPARAMETER'],
      [() => ops.update('weightDecay', variable, [], null, { rate: -1 }), 'ERR_HYPERPARAMETER'],
      [() => ops.update('weightDecay', variable, [], zeros(3), { rate: 0 }), 'ERR_SHAPE'],
      [() => ops.update('weightDecay', variable, [], null, undefined as never), 'ERR_INVALID_OPTION_TYPE'],
    ] as const) {
      expect(run).toThrow(coded(code))
    }
    expect(noted).toEqual([])
    expect([variable.version, shared.version]).toEqual([0, 0])
  })

  it('read shared tensors, and take a list of none', () => {
    const { ops, memory, noted } = open()
    const shared = memory.shared(memory.allocateShared(2), { shape: [2], layout: undefined, id: 'weights' })
    ops.globalNorm([shared])
    ops.clipByGlobalNorm([], 1)
    expect(noted).toEqual([
      ['norm', [shared], Number.POSITIVE_INFINITY],
      ['norm', [], 1],
    ])
  })
})
