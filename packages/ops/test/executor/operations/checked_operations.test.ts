import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import {
  CHECKED_ROWS,
  checkedOperations,
  HostMemory,
  type HostTensor,
  type OperationKernels,
} from '../../../src/executor/index.js'
import { ids, zeros } from '../stub_tensor.js'

/** Operations whose kernels note their arguments. */
function open({ readsIds = true, isOfDevices = true } = {}) {
  const memory = new HostMemory('float32')
  const noted: [string, readonly unknown[], Readonly<Record<string, unknown>>, readonly unknown[]][] = []
  const rows = CHECKED_ROWS.filter(({ row }) => isOfDevices || row.isOfDevices === undefined)
  const note = (name: string) => (operands: unknown[], numbers: object, shapes: unknown[]) => {
    noted.push([name, operands, numbers as Record<string, unknown>, shapes])
    return memory.zeros([])
  }
  const kernels = {
    ...Object.fromEntries(rows.map(({ name }) => [name, note(name)])),
    readIds: ({ data }: { data: Int32Array }) => (readsIds ? data.slice() : undefined),
  } as unknown as OperationKernels<HostTensor>
  return { memory, noted, ops: checkedOperations(memory, kernels) }
}

const lengths = (...values: number[]) => ({ data: Int32Array.from(values), shape: [values.length] })
const sequence = () => zeros(4, 2, 3)

describe('gradients of rows', () => {
  it.each([
    ['linearGradients', ['input', 'kernel', 'outputGradient'], ['input', 'kernel', 'bias'], []],
    ['embeddingGradient', ['ids', 'outputGradient'], ['table'], ['classes']],
    ['activationGradient', ['output', 'outputGradient'], ['input'], ['activation']],
    ['attendGradients', ['input', 'weights', 'outputGradient'], ['input', 'scores'], []],
    ['poolSequenceGradient', ['input', 'lengths', 'outputGradient'], ['input'], []],
    [
      'phasedGateGradients',
      ['times', 'period', 'phase', 'ratioOn', 'outputGradient'],
      ['times', 'period', 'phase', 'ratioOn'],
      [],
    ],
  ])('%s reads %j and gives %j', (name, reads, gives, positional) => {
    const row = CHECKED_ROWS.find((checked) => checked.name === name)
    expect(row?.operands.map(({ pattern }) => pattern.key)).toEqual(reads)
    expect(row?.results.map(({ key }) => key)).toEqual(gives)
    expect(row?.positional.map((option) => option.name)).toEqual(positional)
  })
})

describe('checkedOperations', () => {
  it('give kernels operands, sizes, complete options and shapes of results', () => {
    const { ops, noted } = open()
    ops.activate(zeros(5, 2, 3), 'relu', { maximum: 6 })
    ops.activate(zeros(3), 'tanh')
    ops.poolSequence(sequence(), null, { pooling: 'last' })
    ops.columns(zeros(2, 3), 3, 0)
    ops.concat([zeros(2, 1), zeros(2, 3)])
    ops.reshape(zeros(0, 3), [3, 0, 2])
    ops.phasedGate?.(zeros(2, 1), { period: zeros(3), phase: zeros(3), ratioOn: zeros(3) }, { leak: 0.5 })
    ops.embeddingGradient(6, ids(2, 2), zeros(2, 2, 3))
    expect(noted.map(([name, , numbers, shapes]) => [name, numbers, shapes])).toMatchObject([
      ['activate', { activation: 'relu', maximum: 6, rows: 10, columns: 3 }, [[5, 2, 3]]],
      ['activate', { maximum: Number.POSITIVE_INFINITY, rows: 1 }, [[3]]],
      ['poolSequence', { time: 4, batch: 2, columns: 3, pooling: 'last', reversedFrom: 3 }, [[2, 3]]],
      ['columns', { begin: 3, count: 0 }, [[2, 0]]],
      ['concat', { axis: 1 }, [[2, 4]]],
      ['reshape', { rows: 0 }, [[3, 0, 2]]],
      ['phasedGate', { batch: 2, units: 3, leak: 0.5 }, [[2, 3]]],
      ['embeddingGradient', { classes: 6, columns: 3 }, [[6, 3]]],
    ])
    expect(noted[2]?.[1]).toEqual([sequence(), undefined])
    expect(noted[4]?.[1]).toEqual([[zeros(2, 1), zeros(2, 3)]])
  })

  it('are absent where the executor has no kernel for them', () => {
    const { ops } = open({ isOfDevices: false })
    expect([ops.phasedGate, ops.phasedGateGradients]).toEqual([undefined, undefined])
  })

  it('give kernels the ids and lengths that were checked, even if their owner overwrites them meanwhile', () => {
    const { noted, ops } = open()
    const [given, ends] = [lengths(1, 4), lengths(1, 4)]
    ops.embedding(zeros(5, 2), given)
    ops.reverseSequence(sequence(), ends)
    for (const { data } of [given, ends]) data.fill(9)
    expect(noted.map(([, operands]) => operands[1])).toEqual([lengths(1, 4), lengths(1, 4)])
    expect(() => ops.embedding(zeros(5, 2), given)).toThrow(
      coded('ERR_ID_OUT_OF_RANGE', { index: 0, value: 9, maximum: 4 }),
    )
    expect(() => ops.reverseSequence(sequence(), ends)).toThrow(coded('ERR_SEQUENCE_LENGTHS', { row: 0, maximum: 4 }))
  })

  it('leave ids and lengths to kernels that alone can read them', () => {
    const { ops, noted } = open({ readsIds: false })
    ops.embedding(zeros(5, 2), lengths(99))
    ops.reverseSequence(sequence(), lengths(99, 99))
    expect(noted.map(([, operands]) => operands[1])).toEqual([lengths(99), lengths(99, 99)])
  })

  it('read each operand of their caller once, and count no write', () => {
    const { ops, noted, memory } = open()
    let reads = 0
    const input = {
      shape: [2],
      get data() {
        return ++reads === 1 ? Float32Array.of(1, 2) : new Float32Array(0)
      },
    }
    ops.activate(input as never, 'tanh')
    expect([reads, noted[0]?.[1]]).toEqual([1, [{ data: Float32Array.of(1, 2), shape: [2] }]])
    const own = memory.zeros([2])
    ops.multiply(own, own)
    expect(own.version).toBe(0)
  })

  it('name the operand that does not fit, and the shape that it must have', () => {
    const { ops, noted } = open()
    const gates = { period: zeros(3), phase: zeros(4), ratioOn: zeros(3) }
    for (const [call, argument, shape] of [
      [() => ops.linear(zeros(2, 5), zeros(3, 4), zeros(4)), 'input', '[N1,3]'],
      [() => ops.linear(zeros(2, 3), zeros(3, 4), zeros(3)), 'bias', '[4]'],
      [() => ops.concat([zeros(2, 1), zeros(3, 1)]), 'inputs[1]', '[2,E]'],
      [() => ops.phasedGate?.(zeros(2, 1), gates, { leak: 0 }), 'variables.phase', '[3]'],
    ] as const) {
      const message = expect.stringContaining(`as ${argument} must have shape ${shape}: current shape is`)
      expect(call).toThrow(coded('ERR_SHAPE', { argument, message }))
    }
    expect(() => ops.phasedGate?.(zeros(2, 1), undefined as never, { leak: 0 })).toThrow(coded('ERR_NOT_A_TENSOR'))
    expect(noted).toEqual([])
  })
})
