import type { TensorLike } from '@cudnn-rnn/backend'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { CheckedDenseOps, type DenseKernels, HostMemory, type HostTensor } from '../src/index.js'
import { ids, zeros } from './stub_tensor.js'

const [T, B, E] = [4, 2, 3] as const
const sequence = (...shape: number[]) => zeros(...(shape.length > 0 ? shape : [T, B, E]))

/** Operations whose kernels note their arguments. */
function open({ readsIds = true } = {}) {
  const memory = new HostMemory('float32')
  const noted: unknown[][] = []
  const kernels = new Proxy({} as DenseKernels<HostTensor>, {
    get: (_, name) => {
      if (['ctcLoss', 'phasedGate', 'phasedGateGradients', 'readsCounts'].includes(String(name))) return undefined
      if (name === 'readIds') return ({ data }: { data: Int32Array }) => (readsIds ? data.slice() : undefined)
      return (...given: unknown[]) => {
        noted.push([name, ...given])
        return memory.zeros([])
      }
    },
  })
  return { memory, noted, ops: new CheckedDenseOps(memory, kernels) }
}

type Ops = ReturnType<typeof open>['ops']

/** Each operation with its operands, of which a test changes one. */
const OPERATIONS: Readonly<Record<string, (ops: Ops, changed: Readonly<Record<string, unknown>>) => unknown>> = {
  activate: (ops, { input = zeros(2, 3), activation = 'tanh', options = {} }) =>
    ops.activate(input as never, activation as never, options as never),
  activationGradient: (ops, { output = zeros(2, 3), outputGradient = zeros(2, 3), activation = 'tanh' }) =>
    ops.activationGradient(output as never, outputGradient as never, activation as never),
  multiply: (ops, { a = zeros(2), b = zeros(2) }) => ops.multiply(a as never, b as never),
  dropout: (ops, { input = zeros(2), options = { rate: 0.5, seed: 1, draw: 0 } }) =>
    ops.dropout(input as never, options as never),
  layerNorm: (ops, { input = zeros(2, 3), gamma = zeros(3), beta = zeros(3), options = { epsilon: 0 } }) =>
    ops.layerNorm(input as never, gamma as never, beta as never, options as never),
  layerNormGradients: (ops, { input = zeros(2, 3), gamma = zeros(3), outputGradient = zeros(2, 3), options }) =>
    ops.layerNormGradients(
      input as never,
      gamma as never,
      outputGradient as never,
      (options ?? { epsilon: 0 }) as never,
    ),
  concat: (ops, { inputs = [zeros(2, 1), zeros(2, 3)] }) => ops.concat(inputs as never),
  reshape: (ops, { input = zeros(2, 3), shape = [6] }) => ops.reshape(input as never, shape as never),
  columns: (ops, { input = zeros(2, 3), begin = 1, count = 2 }) =>
    ops.columns(input as never, begin as never, count as never),
  reverseSequence: (ops, { input = sequence(), lengths = ids(B) }) =>
    ops.reverseSequence(input as never, lengths as never),
  poolSequence: (ops, { input = sequence(), lengths = ids(B), options = { pooling: 'max' } }) =>
    ops.poolSequence(input as never, lengths as never, options as never),
  poolSequenceGradient: (ops, { input = sequence(), lengths = ids(B), outputGradient = zeros(B, E), options }) =>
    ops.poolSequenceGradient(
      input as never,
      lengths as never,
      outputGradient as never,
      (options ?? { pooling: 'max' }) as never,
    ),
  attend: (ops, { input = sequence(), scores = zeros(T, B, 1), lengths = ids(B) }) =>
    ops.attend(input as never, scores as never, lengths as never),
  attendGradients: (ops, { input = sequence(), weights = zeros(T, B, 1), outputGradient = zeros(B, E) }) =>
    ops.attendGradients(input as never, weights as never, outputGradient as never),
  elementLoss: (ops, { predictions = zeros(2, 3), targets = zeros(2, 3), loss = 'squared_error', weights }) =>
    ops.elementLoss(predictions as never, targets as never, loss as never, weights as never),
}

const lengthsOf = (...values: number[]) => ({ data: Int32Array.from(values), shape: [values.length] })

describe('CheckedLayerOps', () => {
  it.each(Object.keys(OPERATIONS))('%s gives its kernel operands that fit', (name) => {
    const { ops, noted } = open()
    OPERATIONS[name](ops, {})
    expect(noted).toHaveLength(1)
  })

  it.each<[string, string, unknown, string]>([
    ['activate', 'input', zeros(), 'ERR_SHAPE'],
    ['activate', 'activation', 'gelu', 'ERR_INVALID_OPTION'],
    ['activate', 'options', { limit: 6 }, 'ERR_UNKNOWN_OPTION'],
    ['activationGradient', 'outputGradient', zeros(3, 2), 'ERR_SHAPE'],
    ['activationGradient', 'output', ids(2, 3), 'ERR_DTYPE'],
    ['multiply', 'a', ids(2), 'ERR_DTYPE'],
    ['multiply', 'b', zeros(1), 'ERR_SHAPE'],
    ['dropout', 'options', null, 'ERR_INVALID_OPTION_TYPE'],
    ['dropout', 'options', { rate: 2, seed: 1, draw: 0 }, 'ERR_INVALID_OPTION'],
    ['layerNorm', 'gamma', zeros(2), 'ERR_SHAPE'],
    ['layerNorm', 'beta', zeros(1, 3), 'ERR_SHAPE'],
    ['layerNorm', 'options', { epsilon: -1 }, 'ERR_HYPERPARAMETER'],
    ['layerNorm', 'options', {}, 'ERR_HYPERPARAMETER'],
    ['layerNorm', 'options', { epsilon: 0, axis: 0 }, 'ERR_UNKNOWN_OPTION'],
    ['layerNormGradients', 'outputGradient', zeros(6), 'ERR_SHAPE'],
    ['layerNormGradients', 'gamma', zeros(2), 'ERR_SHAPE'],
    ['concat', 'inputs', [], 'ERR_NOT_A_TENSOR'],
    ['concat', 'inputs', [zeros(2, 1), zeros(3, 1)], 'ERR_SHAPE'],
    ['concat', 'inputs', [zeros(2, 1), zeros(2)], 'ERR_SHAPE'],
    ['concat', 'inputs', [zeros(2, 1), undefined], 'ERR_NOT_A_TENSOR'],
    ['concat', 'inputs', [zeros()], 'ERR_SHAPE'],
    ['reshape', 'shape', [5], 'ERR_SHAPE'],
    ['reshape', 'shape', '6', 'ERR_SHAPE'],
    ['columns', 'begin', -1, 'ERR_INVALID_OPTION'],
    ['columns', 'begin', 4, 'ERR_INVALID_OPTION'],
    ['columns', 'count', 3, 'ERR_INVALID_OPTION'],
    ['reverseSequence', 'input', zeros(T, B), 'ERR_SHAPE'],
    ['reverseSequence', 'lengths', lengthsOf(1), 'ERR_SHAPE'],
    ['reverseSequence', 'lengths', lengthsOf(1, T + 1), 'ERR_SEQUENCE_LENGTHS'],
    ['poolSequence', 'lengths', lengthsOf(-1, 1), 'ERR_SEQUENCE_LENGTHS'],
    ['poolSequence', 'lengths', zeros(B), 'ERR_DTYPE'],
    ['poolSequence', 'options', { pooling: 'sum' }, 'ERR_INVALID_OPTION'],
    ['poolSequence', 'options', { pooling: 'last', reversedFrom: E + 1 }, 'ERR_INVALID_OPTION'],
    ['poolSequenceGradient', 'outputGradient', zeros(T, B, E), 'ERR_SHAPE'],
    ['attend', 'scores', zeros(T, B), 'ERR_SHAPE'],
    ['attend', 'lengths', lengthsOf(T, T, T), 'ERR_SHAPE'],
    ['attendGradients', 'weights', zeros(T, B, E), 'ERR_SHAPE'],
    ['attendGradients', 'outputGradient', zeros(B, 1), 'ERR_SHAPE'],
    ['elementLoss', 'loss', 'hinge', 'ERR_INVALID_OPTION'],
    ['elementLoss', 'targets', zeros(2, 1), 'ERR_SHAPE'],
    ['elementLoss', 'weights', zeros(2, 3), 'ERR_SHAPE'],
  ])('%s refuses its %s: %#', (name, argument, value, code) => {
    const { ops, noted } = open()
    expect(() => OPERATIONS[name](ops, { [argument]: value })).toThrow(coded(code))
    expect(noted).toEqual([])
  })

  it.each(Object.keys(OPERATIONS))('%s refuses foreign and disposed tensors, and a disposed executor', (name) => {
    const { ops, memory, noted } = open()
    // Of each operation the first operand.
    const first = { concat: 'inputs', multiply: 'a', activationGradient: 'output', elementLoss: 'predictions' }
    const argument = first[name as keyof typeof first] ?? 'input'
    const shape =
      { multiply: [2], dropout: [2], concat: [2, 1] }[name] ?? (name.match(/Seq|attend/) ? [T, B, E] : [2, 3])
    const changed = (tensor: TensorLike) => ({ [argument]: argument === 'inputs' ? [tensor] : tensor })
    const own = memory.zeros(shape)
    OPERATIONS[name](ops, changed(own))
    expect(noted).toHaveLength(1)
    own.dispose()
    const foreign = new HostMemory('float32').zeros(shape)
    expect(() => OPERATIONS[name](ops, changed(own))).toThrow(coded('ERR_TENSOR_DISPOSED'))
    expect(() => OPERATIONS[name](ops, changed(foreign))).toThrow(coded('ERR_FOREIGN_TENSOR'))
    memory.dispose()
    expect(() => OPERATIONS[name](ops, {})).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect(noted).toHaveLength(1)
  })

  it('gives its kernels the lengths that were checked', () => {
    const { ops, noted } = open()
    const given = lengthsOf(1, T)
    for (const name of ['reverseSequence', 'poolSequence', 'poolSequenceGradient', 'attend']) {
      OPERATIONS[name](ops, { lengths: given })
    }
    given.data.fill(99)
    for (const [, operands] of noted) expect(operands).toMatchObject({ lengths: lengthsOf(1, T) })
  })

  it('leaves lengths that it cannot read to its kernels', () => {
    const { ops, noted } = open({ readsIds: false })
    ops.reverseSequence(sequence(), lengthsOf(99, 99))
    expect(noted[0][1]).toMatchObject({ lengths: lengthsOf(99, 99) })
    ops.reverseSequence(sequence(), null)
    expect(noted[1][1]).toMatchObject({ lengths: undefined })
  })

  it('takes operands without rows, steps or columns', () => {
    const { ops, noted } = open()
    ops.activate(zeros(0, 3), 'relu')
    ops.concat([zeros(2, 0), zeros(2, 0)])
    ops.columns(zeros(2, 3), 3, 0)
    ops.poolSequence(sequence(0, B, E), ids(B), { pooling: 'mean' })
    ops.reshape(zeros(0, 3), [3, 0, 2])
    expect(noted.map(([name]) => name)).toEqual(['activate', 'concat', 'columns', 'poolSequence', 'concat'])
  })

  it('reads each operand of its caller once', () => {
    const { ops, noted } = open()
    let reads = 0
    const input = {
      shape: [2],
      get data() {
        return ++reads === 1 ? Float32Array.of(1, 2) : new Float32Array(0)
      },
    }
    ops.activate(input as never, 'tanh')
    ops.multiply(zeros(2), { data: Float32Array.of(3, 4), shape: [2] })
    expect(reads).toBe(1)
    expect(noted[0][1]).toEqual({ input: { data: Float32Array.of(1, 2), shape: [2] } })
  })

  it('counts no write: its operations make new tensors', () => {
    const { ops, memory } = open()
    const own = memory.zeros([2])
    ops.multiply(own, own)
    ops.activate(own, 'relu')
    expect(own.version).toBe(0)
  })
})
