import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  dynamicRnn,
  FusedRNNCellAdaptor,
  LSTMBlockFusedCell,
  LSTMCell,
  staticRnn,
  TimeReversedFusedRNN,
} from '../../src/index.js'
import { reverseSteps, unstackSteps } from '../../src/sequence/sequence_layout.js'
import { float64 } from '../cell_checks.js'
import { FILLS } from '../goldens.js'
import { B, cellOf, dtype, H, I, LENGTHS, sequence } from './sequence_cells.js'

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
