import { describe, expect, it } from 'vitest'
import { markdownTable, numberIn } from '../bench/markdown_table.mjs'

const PAGE = `# Title

| a | b |
|---|--:|
| **1** | \`x\` |

## Second

text

| c |
|---|
| 2 |

| d |
|---|
| 3 \\| 4 |

## Third
`

describe('markdownTable', () => {
  it('reads the cells of the table of a section without marks', () => {
    expect(markdownTable(PAGE, undefined)).toEqual({ header: ['a', 'b'], rows: [['1', 'x']] })
    expect(markdownTable(PAGE, 'Second')).toEqual({ header: ['c'], rows: [['2']] })
    expect(markdownTable(PAGE, 'Second', 1)).toEqual({ header: ['d'], rows: [['3 | 4']] })
  })

  it('throws where the section has no such table', () => {
    expect(() => markdownTable(PAGE, 'Third')).toThrow('no table 0 below "Third"')
    expect(() => markdownTable(PAGE, 'Fourth')).toThrow('no heading "Fourth"')
  })
})

describe('numberIn', () => {
  it('is the first number of a text', () => {
    expect(['0.129 / 2.84', '12,569 tokens/s', '−, 90 %', '46, 29.8 ×'].map(numberIn)).toEqual([0.129, 12569, 90, 46])
    expect(() => numberIn('none')).toThrow('no number in "none"')
  })
})
