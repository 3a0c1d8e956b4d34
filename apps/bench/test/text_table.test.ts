import { describe, expect, it } from 'vitest'
import { textTable } from '../src/text_table.js'

describe('textTable', () => {
  it('aligns names left and numbers right, without spaces at line ends', () => {
    const table = textTable(
      ['cell', 'ms', 'ratio'],
      [
        ['LSTM', '12.5', '0.5'],
        ['GRU', '7', ''],
      ],
    )
    expect(table).toBe(['cell    ms  ratio', '────  ────  ─────', 'LSTM  12.5    0.5', 'GRU      7'].join('\n'))
  })
})
