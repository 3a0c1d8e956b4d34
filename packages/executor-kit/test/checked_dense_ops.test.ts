import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { CheckedDenseOps, type DenseKernels, HostMemory, type HostTensor } from '../src/index.js'
import { ids, zeros } from './stub_tensor.js'

/** Operations whose kernels note their arguments, and throw where `failure` is set. */
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
  const names = ['linear', 'linearGradients', 'embedding', 'embeddingGradient', 'softmaxCrossEntropy'] as const
  const inPlace = ['norm', 'assign', 'clip', 'update'] as const
  const kernels = {
    ...Object.fromEntries([...names, ...inPlace].map((name) => [name, note(name)])),
    readIds: ({ data }: { data: Int32Array }) => data.slice(),
  } as unknown as DenseKernels<HostTensor>
  return { memory, noted, state, ops: new CheckedDenseOps(memory, kernels) }
}

describe('CheckedDenseOps', () => {
  it('gives its kernels complete options and the tensors to write and to read', () => {
    const { memory, noted, ops } = open()
    const [variable, velocity, gradient] = [memory.zeros([2]), memory.zeros([2]), zeros(2)]
    ops.applyMomentum(variable, velocity, gradient, { learningRate: 0.1, momentum: 0.9 })
    ops.applySgd(variable, gradient, { learningRate: 0.5 })
    ops.applyWeightDecay(variable, { rate: 0.01 })
    const momentum = { learningRate: 0.1, momentum: 0.9, nesterov: false, rateInVelocity: false }
    expect(noted).toEqual([
      ['update', { rule: 'momentum', ...momentum }, [variable, velocity], gradient],
      ['update', { rule: 'addScaled', scale: -0.5 }, [variable], gradient],
      ['update', { rule: 'weightDecay', rate: 0.01 }, [variable], undefined],
    ])
  })

  it('counts every write of a tensor, but none by a kernel that threw', () => {
    const { memory, state, ops } = open()
    const [variable, slot] = [memory.zeros([2]), memory.zeros([2])]
    const writes = () => {
      ops.applyAdagrad(variable, slot, zeros(2), { learningRate: 1, epsilon: 0 })
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

  it('passes checked ids to its kernels, even if their owner overwrites them meanwhile', () => {
    const { noted, ops } = open()
    const given = ids(3)
    ops.embedding(zeros(5, 2), given)
    given.data.fill(9)
    expect(noted).toEqual([['embedding', { table: zeros(5, 2), ids: ids(3) }, 2]])
    expect(() => ops.embedding(zeros(5, 2), given)).toThrow(coded('ERR_ID_OUT_OF_RANGE'))
    expect(() => ops.embeddingGradient(5, given, zeros(3, 2))).toThrow(coded('ERR_ID_OUT_OF_RANGE'))
    expect(() => ops.softmaxCrossEntropy(zeros(3, 5), given)).toThrow(coded('ERR_ID_OUT_OF_RANGE'))
  })

  it('refuses wrong operands, foreign tensors and a disposed executor before a kernel runs', () => {
    const { memory, noted, ops } = open()
    const variable = memory.zeros([2])
    const foreign = new HostMemory('float32').zeros([2])
    const rate = { learningRate: 1 }
    expect(() => ops.applySgd(variable, zeros(3), rate)).toThrow(coded('ERR_SHAPE'))
    expect(() => ops.applySgd(variable, zeros(2), { learningRate: -1 })).toThrow(coded('ERR_HYPERPARAMETER'))
    expect(() => ops.applySgd(foreign, zeros(2), rate)).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(() => ops.applySgd(variable, foreign, rate)).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(() => ops.assign(variable, foreign)).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(() => ops.globalNorm([variable, foreign])).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(() => ops.linear(zeros(1, 2), zeros(2, 2), foreign)).toThrow(coded('ERR_FOREIGN_TENSOR'))
    memory.dispose()
    expect(() => ops.linear(zeros(1, 2), zeros(2, 2), zeros(2))).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect(noted).toEqual([])
    expect(variable.version).toBe(0)
  })
})
