import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { FloatTensor } from '../../src/cell/float_tensor.js'
import {
  dynamicRnn,
  LSTMBlockFusedCell,
  stackBidirectionalDynamicRnn,
  staticRnn,
  TimeReversedFusedRNN,
  UGRNNCell,
} from '../../src/index.js'
import { exchangeTimeAndBatch, unstackSteps } from '../../src/sequence/sequence_layout.js'
import { float64 } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'
import { B, cellOf, dtype, H, I, LENGTHS, sequence, T } from './sequence_cells.js'

/** Row b of step t of a time-major tensor. */
const rowOf = ({ data, shape: [, batch, columns] }: FloatTensor, t: number, b: number) => [
  ...data.slice((t * batch + b) * columns, (t * batch + b + 1) * columns),
]

describe('dynamicRnn', () => {
  it('steps the cell row by row, up to the length of each', () => {
    const cell = cellOf()
    const x = sequence()
    const { outputs, state } = dynamicRnn(cell, x, { timeMajor: true, sequenceLength: LENGTHS })
    for (const [b, length] of LENGTHS.entries()) {
      let own = cell.zeroState(1)
      for (let t = 0; t < T; t++) {
        if (t < length) {
          const step = cell.call(float64(rowOf(x, t, b), [1, I]), own)
          own = step.state
          const expected = [...step.output.data].map((value) => expect.closeTo(value, 13))
          expect(rowOf(outputs, t, b)).toEqual(expected)
        } else {
          expect(rowOf(outputs, t, b)).toEqual(new Array(H).fill(0))
        }
      }
      expect([...state.data.slice(b * H, (b + 1) * H)]).toEqual([...own.data].map((value) => expect.closeTo(value, 13)))
    }
  })

  it('is batch-major by default', () => {
    const cell = cellOf()
    const [x, dy] = [sequence(), sequence(H, FILLS.weights)]
    const timeMajor = dynamicRnn(cell, x, { timeMajor: true, sequenceLength: LENGTHS })
    const batchMajor = dynamicRnn(cell, exchangeTimeAndBatch(x), { sequenceLength: LENGTHS })
    expect(batchMajor.outputs).toEqual(exchangeTimeAndBatch(timeMajor.outputs))
    expect(batchMajor.state).toEqual(timeMajor.state)
    const expected = timeMajor.tape.gradients({ outputs: dy })
    const gradients = batchMajor.tape.gradients({ outputs: exchangeTimeAndBatch(dy) })
    expect(gradients.inputs).toEqual(exchangeTimeAndBatch(expected.inputs))
    expect(gradients.variables).toEqual(expected.variables)
  })

  it('passes neither padding nor its gradient on, NaN included', () => {
    const cell = cellOf()
    const [x, dy] = [sequence(), sequence(H, FILLS.weights)]
    const clean = dynamicRnn(cell, x, { timeMajor: true, sequenceLength: LENGTHS })
    const expected = clean.tape.gradients({ outputs: dy })
    for (const [b, length] of LENGTHS.entries()) {
      for (let t = length; t < T; t++) {
        x.data.fill(Number.NaN, (t * B + b) * I, (t * B + b + 1) * I)
        dy.data.fill(Number.NaN, (t * B + b) * H, (t * B + b + 1) * H)
      }
    }
    const padded = dynamicRnn(cell, x, { timeMajor: true, sequenceLength: LENGTHS })
    expect(padded.outputs).toEqual(clean.outputs)
    expect(padded.tape.gradients({ outputs: dy })).toEqual(expected)
  })

  it('gives the gradient of a final state to the initial state of a row without steps', () => {
    const cell = cellOf()
    const { tape } = dynamicRnn(cell, sequence(), { timeMajor: true, sequenceLength: LENGTHS })
    const state = float64(fill(B * H, FILLS.weights), [B, H])
    const gradients = tape.gradients({ state })
    expect([...gradients.state.data.slice(H, 2 * H)]).toEqual([...state.data.slice(H, 2 * H)])
  })

  it('takes a sequence without rows, and one without steps', () => {
    const cell = cellOf()
    const noRows = dynamicRnn(cell, float64([], [T, 0, I]), { timeMajor: true })
    expect([noRows.outputs.shape, noRows.state.shape]).toEqual([
      [T, 0, H],
      [0, H],
    ])
    const initialState = float64(fill(B * H, FILLS.weights), [B, H])
    const noSteps = dynamicRnn(cell, float64([], [0, B, I]), { timeMajor: true, initialState })
    expect([noSteps.outputs.shape, noSteps.state]).toEqual([[0, B, H], initialState])
    const gradients = noSteps.tape.gradients({ state: initialState })
    expect([gradients.inputs.shape, gradients.state]).toEqual([[0, B, I], initialState])
    for (const { data } of gradients.variables.values()) expect(data.every((value) => value === 0)).toBe(true)
  })

  it('leaves the arrays of its caller, and results do not share them', () => {
    const cell = cellOf()
    const x = sequence()
    const initialState = float64(fill(B * H, FILLS.weights), [B, H])
    const before = structuredClone([x, initialState])
    const { outputs, state, tape } = dynamicRnn(cell, x, { timeMajor: true, initialState, sequenceLength: [0, 0, 0] })
    state.data.fill(9)
    outputs.data.fill(9)
    expect([x, initialState]).toEqual(before)
    x.data.fill(5)
    expect(tape.gradients({}).inputs.data.every((value) => value === 0)).toBe(true)
  })

  it.each<[string, object, string]>([
    ['lengths of another count', { sequenceLength: [1, 2] }, 'ERR_SEQUENCE_LENGTHS'],
    ['a length past the end', { sequenceLength: [T + 1, 1, 1] }, 'ERR_SEQUENCE_LENGTHS'],
    ['a state of other rows', { initialState: float64(new Array(H).fill(0), [1, H]) }, 'ERR_SHAPE'],
    ['an option of another name', { time_major: true }, 'ERR_UNKNOWN_OPTION'],
    ['training that is not a flag', { training: 1 }, 'ERR_INVALID_OPTION_TYPE'],
  ])('refuses %s', (_, options, code) => {
    expect(() => dynamicRnn(cellOf(), sequence(), { timeMajor: true, ...options } as never)).toThrow(coded(code))
  })
})

describe('a backend that is refused', () => {
  const steps = () => unstackSteps(sequence())
  it.each<[string, unknown, string]>([
    ['no backend', {}, 'ERR_DTYPE'],
    ['a backend of another dtype', { dtype: 'float32' }, 'ERR_DTYPE'],
    ['a number', 3, 'ERR_INVALID_OPTION_TYPE'],
    ['null', null, 'ERR_INVALID_OPTION_TYPE'],
  ])('leaves the cells unbuilt, %s', (_, backend, code) => {
    const options = { backend } as never
    const [cell, other, block] = [
      new UGRNNCell(H, { dtype }),
      new UGRNNCell(H, { dtype }),
      new LSTMBlockFusedCell(H, { dtype }),
    ]
    expect(() => dynamicRnn(cell, sequence(), options)).toThrow(coded(code))
    expect(() => staticRnn(cell, steps(), options)).toThrow(coded(code))
    expect(() => stackBidirectionalDynamicRnn([cell], [other], sequence(), options)).toThrow(coded(code))
    expect(() => new TimeReversedFusedRNN(block).call(sequence(), options)).toThrow(coded(code))
    expect([cell, other, block].map(({ inputSize }) => inputSize)).toEqual([undefined, undefined, undefined])
  })
})
