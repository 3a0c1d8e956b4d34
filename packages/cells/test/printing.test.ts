import { describe, expect, it } from 'vitest'
import { FusedRNNCellAdaptor, LSTMBlockCell, LSTMBlockFusedCell, TimeReversedFusedRNN } from '../src/index.js'

/** The text of `String`, which `console.log` must print too; JSON must be short. */
function printed(value: object): string {
  const inspect = Reflect.get(value, Symbol.for('nodejs.util.inspect.custom')) as () => string
  expect(inspect.call(value)).toBe(String(value))
  expect(JSON.stringify(value).length).toBeLessThan(300)
  return String(value)
}

describe('print', () => {
  it('cells: kind, name, dtype and the shapes of the variables', () => {
    const cell = new LSTMBlockCell(4)
    expect(printed(cell)).toBe('LSTMBlockCell { name: "lstm_cell", dtype: "float32", variables: [] }')
    cell.build(3)
    expect(printed(cell)).toBe(
      'LSTMBlockCell { name: "lstm_cell", dtype: "float32", inputSize: 3, variables: [kernel [7,16],bias [16]] }',
    )
    expect(JSON.parse(JSON.stringify(cell))).toEqual({
      ...{ kind: 'LSTMBlockCell', name: 'lstm_cell', dtype: 'float32', inputSize: 3 },
      variables: ['kernel [7,16]', 'bias [16]'],
    })
  })

  it('wrappers: the wrapped cell, and no elements', () => {
    const adaptor = new FusedRNNCellAdaptor(new LSTMBlockCell(4))
    expect(printed(adaptor)).toMatch(/^FusedRNNCellAdaptor \{ cell: "LSTMBlockCell \{ .*\}" \}$/)
    const reversed = new TimeReversedFusedRNN(new LSTMBlockFusedCell(4))
    expect(printed(reversed)).toMatch(/^TimeReversedFusedRNN \{ cell: "LSTMBlockFusedCell \{ .*\}" \}$/)
  })

  it('tapes: their state', () => {
    const cell = new LSTMBlockCell(2)
    const { tape } = cell.call({ data: new Float32Array(3), shape: [1, 3] }, cell.zeroState(1))
    expect(printed(tape)).toBe('Tape { state: "open" }')
    tape.dispose()
    expect(printed(tape)).toBe('Tape { state: "disposed" }')
  })
})
