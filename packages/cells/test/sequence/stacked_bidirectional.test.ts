import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { FloatTensor } from '../../src/cell/float_tensor.js'
import { dynamicRnn, ResidualWrapper, stackBidirectionalDynamicRnn, UGRNNCell } from '../../src/index.js'
import { joinColumns, reverseSteps } from '../../src/sequence/sequence_layout.js'
import { dot, expectGradient, float64 } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'
import { B, cellOf, dtype, H, I, LENGTHS, sequence, T } from './sequence_cells.js'

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
