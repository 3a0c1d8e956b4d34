import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { FloatTensor } from '../../src/cell/float_tensor.js'
import {
  dynamicRnn,
  FusedRNNCellAdaptor,
  LSTMBlockFusedCell,
  LSTMCell,
  ResidualWrapper,
  stackBidirectionalDynamicRnn,
  staticRnn,
  TimeReversedFusedRNN,
  UGRNNCell,
} from '../../src/index.js'
import { exchangeTimeAndBatch, joinColumns, reverseSteps, unstackSteps } from '../../src/sequence/sequence_layout.js'
import { dot, expectGradient, float64 } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'

const dtype = 'float64' as const
const [T, B, I, H] = [4, 3, 2, 5] as const
const LENGTHS = [4, 0, 2]

const sequence = (columns: number = I, formula: readonly [number, number, number] = FILLS.x) =>
  float64(fill(T * B * columns, formula), [T, B, columns])

function cellOf(seed = 1, units: number = H, inputSize: number = I) {
  const cell = new UGRNNCell(units, { dtype })
  cell.build(inputSize, { seed })
  return cell
}

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

describe('staticRnn', () => {
  it('is dynamicRnn over a list, in its gradients too', () => {
    const cell = cellOf()
    const [x, dy] = [sequence(), sequence(H, FILLS.weights)]
    const expected = dynamicRnn(cell, x, { timeMajor: true, sequenceLength: LENGTHS })
    const given = expected.tape.gradients({ outputs: dy })
    const { outputs, state, tape } = staticRnn(cell, unstackSteps(x), { sequenceLength: LENGTHS })
    expect([outputs, state]).toEqual([unstackSteps(expected.outputs), expected.state])
    const gradients = tape.gradients({ outputs: unstackSteps(dy) })
    expect(gradients).toEqual({ ...given, inputs: unstackSteps(given.inputs) })
  })

  it('refuses one tensor, steps that differ, and gradients in another form', () => {
    const cell = cellOf()
    expect(() => staticRnn(cell, sequence() as never)).toThrow(coded('ERR_SEQUENCE_LAYOUT'))
    const [first, second] = unstackSteps(sequence())
    const short = float64(second.data.slice(I), [B - 1, I])
    expect(() => staticRnn(cell, [first, short])).toThrow(coded('ERR_SHAPE', { argument: 'inputs[1]' }))
    const { tape } = staticRnn(cell, [first, second])
    expect(() => tape.gradients({ outputs: sequence(H) })).toThrow(coded('ERR_SEQUENCE_LAYOUT'))
    expect(() => tape.gradients({ outputs: [] })).toThrow(coded('ERR_EMPTY_SEQUENCE'))
    expect(() => tape.gradients({ outputs: unstackSteps(sequence(H)) })).toThrow(coded('ERR_SHAPE'))
    expect(() => tape.gradients({ output: first } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
    expect(tape.state).toBe('open')
  })
})

describe('TimeReversedFusedRNN', () => {
  const fused = () => {
    const cell = new LSTMBlockFusedCell(H, { dtype })
    cell.build(I, { seed: 1 })
    return cell
  }

  it('is the cell over each row from its last step to its first', () => {
    const [x, dy] = [sequence(), sequence(H, FILLS.weights)]
    const lengths = Int32Array.from(LENGTHS)
    const forward = fused().call(reverseSteps(x, lengths), { sequenceLength: LENGTHS })
    const backward = new TimeReversedFusedRNN(fused()).call(x, { sequenceLength: LENGTHS })
    expect(backward.outputs).toEqual(reverseSteps(forward.outputs, lengths))
    expect(backward.state).toEqual(forward.state)
    const expected = forward.tape.gradients({ outputs: reverseSteps(dy, lengths) })
    const gradients = backward.tape.gradients({ outputs: dy })
    expect(gradients.inputs).toEqual(reverseSteps(expected.inputs, lengths))
    expect(gradients.variables).toEqual(expected.variables)
  })

  it('reversed twice is the cell', () => {
    const twice = new TimeReversedFusedRNN(new TimeReversedFusedRNN(fused()))
    const x = sequence()
    const options = { sequenceLength: LENGTHS }
    expect(twice.call(x, options).outputs).toEqual(fused().call(x, options).outputs)
  })

  it('has the sizes, the dtype and the variables of its cell', () => {
    const cell = fused()
    const reversed = new TimeReversedFusedRNN(cell)
    expect([reversed.stateSize, reversed.outputSize, reversed.inputSize, reversed.dtype, reversed.name]).toEqual([
      { c: H, h: H },
      H,
      I,
      dtype,
      cell.name,
    ])
    expect([...reversed.zeroGradients().keys()]).toEqual([...cell.variables.keys()])
    expect(() => new TimeReversedFusedRNN({} as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(() => new TimeReversedFusedRNN(new LSTMCell(2) as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it('runs a step cell by an adaptor', () => {
    const x = sequence()
    const lengths = Int32Array.from(LENGTHS)
    const adapted = new TimeReversedFusedRNN(new FusedRNNCellAdaptor(cellOf(), { useDynamicRnn: true }))
    const { outputs } = adapted.call(x, { sequenceLength: LENGTHS })
    const expected = dynamicRnn(cellOf(), reverseSteps(x, lengths), { timeMajor: true, sequenceLength: LENGTHS })
    expect(outputs).toEqual(reverseSteps(expected.outputs, lengths))
    expect(() => new FusedRNNCellAdaptor({} as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(() => new FusedRNNCellAdaptor(cellOf(), { useDynamicRnn: 1 as never })).toThrow(
      coded('ERR_INVALID_OPTION_TYPE'),
    )
  })
})

describe('stackBidirectionalDynamicRnn', () => {
  const cells = (seed: number) => [cellOf(seed, 3, I), cellOf(seed + 1, 2, 6)] as const
  const options = { timeMajor: true, sequenceLength: LENGTHS }

  it('feeds each layer both outputs of the one below', () => {
    const [fw, bw] = [cells(1), cells(5)]
    const x = sequence()
    const lengths = Int32Array.from(LENGTHS)
    const layer = (input: FloatTensor, k: number) => {
      const forward = dynamicRnn(fw[k], input, options)
      const backward = dynamicRnn(bw[k], reverseSteps(input, lengths), options)
      return { forward, backward, joined: joinColumns(forward.outputs, reverseSteps(backward.outputs, lengths)) }
    }
    const first = layer(x, 0)
    const second = layer(first.joined, 1)
    const { outputs, statesFw, statesBw } = stackBidirectionalDynamicRnn(fw, bw, x, options)
    expect(outputs).toEqual(second.joined)
    expect(statesFw).toEqual([first.forward.state, second.forward.state])
    expect(statesBw).toEqual([first.backward.state, second.backward.state])
  })

  it("has the gradients of differences, under TensorFlow's names", () => {
    const [fw, bw] = [cells(1), cells(5)]
    const x = sequence()
    const initialStatesBw = [float64(fill(B * 3, FILLS.weights), [B, 3]), float64(fill(B * 2, FILLS.x), [B, 2])]
    const run = () => stackBidirectionalDynamicRnn(fw, bw, x, { ...options, initialStatesBw })
    const dy = sequence(4, FILLS.weights)
    const { tape } = run()
    const gradients = tape.gradients({ outputs: dy })
    const loss = () => dot(run().outputs, dy)
    expectGradient(x, gradients.inputs, loss, 'inputs')
    expectGradient(initialStatesBw[0], gradients.statesBw[0], loss, 'backward state of layer 0')
    expect(gradients.statesFw.map(({ shape }) => shape)).toEqual([
      [B, 3],
      [B, 2],
    ])
    const names = [0, 1].flatMap((k) =>
      ['fw', 'bw'].flatMap((direction) =>
        ['kernel', 'bias'].map((name) => `cell_${k}/bidirectional_rnn/${direction}/ugrnn_cell/${name}`),
      ),
    )
    expect([...gradients.variables.keys()]).toEqual(names)
    const name = 'cell_0/bidirectional_rnn/bw/ugrnn_cell/bias'
    expectGradient(bw[0].variables.get('bias')!, gradients.variables.get(name)!, loss, name)
  })

  it('begins directions at different weights', () => {
    const [fw, bw] = [new UGRNNCell(2, { dtype }), new UGRNNCell(2, { dtype })]
    stackBidirectionalDynamicRnn([fw], [bw], sequence(), options)
    expect([...fw.variables.get('kernel')!.data]).not.toEqual([...bw.variables.get('kernel')!.data])
  })

  it.each<[string, () => unknown, string]>([
    ['no cells', () => stackBidirectionalDynamicRnn([], [], sequence(), options), 'ERR_INVALID_OPTION'],
    [
      'lists of two lengths',
      () => stackBidirectionalDynamicRnn([cellOf()], [], sequence(), options),
      'ERR_INVALID_OPTION',
    ],
    ['no lists', () => stackBidirectionalDynamicRnn(cellOf() as never, [], sequence()), 'ERR_INVALID_ARGUMENT'],
    [
      'states of another structure',
      () => stackBidirectionalDynamicRnn([cellOf()], [cellOf(2)], sequence(), { ...options, initialStatesFw: [] }),
      'ERR_STATE_STRUCTURE',
    ],
    [
      'an option of another name',
      () => stackBidirectionalDynamicRnn([cellOf()], [cellOf(2)], sequence(), { initialStates: [] } as never),
      'ERR_UNKNOWN_OPTION',
    ],
  ])('refuses %s', (_, run, code) => {
    expect(run).toThrow(coded(code))
  })

  it.each([0, null, 'false'])('refuses training that is not a flag, %o', (training) => {
    const [fw, bw] = [new UGRNNCell(2, { dtype }), new UGRNNCell(2, { dtype })]
    expect(() => stackBidirectionalDynamicRnn([fw], [bw], sequence(), { training } as never)).toThrow(
      coded('ERR_INVALID_OPTION_TYPE'),
    )
    expect([fw.inputSize, bw.inputSize]).toEqual([undefined, undefined])
  })

  it.each([
    ['direction', 0, 1],
    ['layer', 1, 0],
  ])('refuses cells of another dtype in one %s, and builds none', (_, layer, direction) => {
    const make = (k: number, side: number) =>
      new UGRNNCell(2, { dtype: k === layer && side === direction ? 'float32' : dtype })
    const [fw, bw] = [0, 1].map((side) => [make(0, side), make(1, side)])
    expect(() => stackBidirectionalDynamicRnn(fw, bw, sequence(), options)).toThrow(
      coded('ERR_INVALID_OPTION', { option: 'cellsBw' }),
    )
    expect([...fw, ...bw].map(({ inputSize }) => inputSize)).toEqual(new Array(4).fill(undefined))
  })

  it.each<[string, string, () => readonly (readonly UGRNNCell[])[]]>([
    [
      'a cell in both directions',
      'ERR_INVALID_OPTION',
      () => {
        const shared = new UGRNNCell(2, { dtype })
        return [[shared], [shared]]
      },
    ],
    [
      'a cell in two layers',
      'ERR_INVALID_OPTION',
      () => {
        const [shared, ...others] = [4, 2, 2].map((units) => new UGRNNCell(units, { dtype }))
        return [[shared, shared], others]
      },
    ],
    [
      'a cell built for other columns in the last layer',
      'ERR_CELL_BUILT',
      () => {
        const [a, b, c, d] = [2, 2, 3, 3].map((units) => new UGRNNCell(units, { dtype }))
        d.build(7)
        return [
          [a, c],
          [b, d],
        ]
      },
    ],
  ])('refuses %s, and builds none', (_, code, make) => {
    const [fw, bw] = make()
    const sizes = () => [...fw, ...bw].map(({ inputSize }) => inputSize)
    const before = sizes()
    expect(() => stackBidirectionalDynamicRnn(fw, bw, sequence(), options)).toThrow(coded(code))
    expect(sizes()).toEqual(before)
  })

  it('builds none where a wrapper refuses its columns', () => {
    const inner = new UGRNNCell(3, { dtype })
    const cells = [new UGRNNCell(2, { dtype }), new ResidualWrapper(inner)] as const
    expect(() => stackBidirectionalDynamicRnn([cells[0]], [cells[1]], sequence(), options)).toThrow(
      coded('ERR_INVALID_OPTION', { option: 'inputSize' }),
    )
    expect([cells[0].inputSize, inner.inputSize]).toEqual([undefined, undefined])
  })

  it('has no tape in inference, and the outputs of training', () => {
    const [fw, bw] = [[cellOf()], [cellOf(2)]]
    const inference = stackBidirectionalDynamicRnn(fw, bw, sequence(), { ...options, training: false })
    expect(inference.tape).toBeUndefined()
    expect(inference.outputs).toEqual(stackBidirectionalDynamicRnn(fw, bw, sequence(), options).outputs)
  })

  it('keeps its tape open where gradients are refused', () => {
    const { tape, outputs } = stackBidirectionalDynamicRnn([cellOf()], [cellOf(2)], sequence(), options)
    expect(() => tape.gradients({ outputs: sequence(H) })).toThrow(coded('ERR_SHAPE'))
    expect(() => tape.gradients({ statesFw: [] })).toThrow(coded('ERR_STATE_STRUCTURE'))
    expect(tape.gradients({ outputs }).inputs.shape).toEqual([T, B, I])
    expect(() => tape.gradients({ outputs })).toThrow(coded('ERR_TAPE_CONSUMED'))
  })
})
