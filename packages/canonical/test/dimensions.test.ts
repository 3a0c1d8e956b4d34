import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CELL_MODES, type CellMode, gatesOf } from '../src/cell_mode.js'
import {
  hiddenColumns,
  layerInputSize,
  numDirections,
  numGates,
  numPseudoLayers,
  outputSize,
} from '../src/dimensions.js'
import { createRnnDescriptor } from '../src/index.js'
import { layoutKey } from '../src/layout_key.js'

const base = { cellMode: 'lstm', numLayers: 3, numUnits: 5, inputSize: 7 } as const
const plain = createRnnDescriptor(base)
const both = createRnnDescriptor({ ...base, direction: 'bidirectional' })
const projected = createRnnDescriptor({ ...base, direction: 'bidirectional', numProj: 2 })

describe('dimensions', () => {
  it.each([
    ['plain', plain, { directions: 1, columns: 5, output: 5, inputs: [7, 5, 5], pseudoLayers: 3 }],
    ['bidirectional', both, { directions: 2, columns: 5, output: 10, inputs: [7, 10, 10], pseudoLayers: 6 }],
    ['projected', projected, { directions: 2, columns: 2, output: 4, inputs: [7, 4, 4], pseudoLayers: 6 }],
  ])('of a %s network', (_, descriptor, expected) => {
    expect(numDirections(descriptor)).toBe(expected.directions)
    expect(hiddenColumns(descriptor)).toBe(expected.columns)
    expect(outputSize(descriptor)).toBe(expected.output)
    expect([0, 1, 2].map((layer) => layerInputSize(descriptor, layer))).toEqual(expected.inputs)
    expect(numPseudoLayers(descriptor)).toBe(expected.pseudoLayers)
  })

  it.each([
    ['lstm', 4, true],
    ['gru', 3, false],
    ['rnn_relu', 1, false],
    ['rnn_tanh', 1, false],
  ] as const)('%s has %i gates', (cellMode, gates, hasCellState) => {
    expect(numGates({ cellMode })).toBe(gates)
    expect(CELL_MODES[cellMode].hasCellState).toBe(hasCellState)
    expect(new Set(gatesOf(cellMode)).size).toBe(gates)
  })

  it('refuses other values than a network', () => {
    const invalid = coded('ERR_INVALID_OPTION_TYPE')
    for (const size of [numGates, numDirections, hiddenColumns, outputSize, numPseudoLayers]) {
      for (const value of [undefined, null, 3]) expect(() => size(value as never)).toThrow(invalid)
    }
    expect(() => layerInputSize(null as never, 0)).toThrow(invalid)
    expect(() => numPseudoLayers({ numLayers: '2' } as never)).toThrow(invalid)
    for (const mode of ['toString', 'LSTM', undefined]) {
      expect(() => gatesOf(mode as CellMode)).toThrow(coded('ERR_INVALID_OPTION', { option: 'cellMode' }))
    }
  })
})

describe('layoutKey', () => {
  const changes: Parameters<typeof createRnnDescriptor>[0][] = [
    { ...base, cellMode: 'gru' },
    { ...base, cellMode: 'rnn_relu' },
    { ...base, cellMode: 'rnn_tanh' },
    { ...base, numLayers: 2 },
    { ...base, numUnits: 6 },
    { ...base, inputSize: 5, inputMode: 'linear_input' },
    { ...base, inputSize: 5, inputMode: 'skip_input' },
    { ...base, direction: 'bidirectional' },
    { ...base, numProj: 2 },
    { ...base, biasMode: 'none' },
  ]

  it('differs where the regions of parameters do', () => {
    const keys = [plain, ...changes.map(createRnnDescriptor)].map(layoutKey)
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('does not depend on dropout, seed and clip', () => {
    const other = createRnnDescriptor({ ...base, dropout: 0.5, seed: 9, cellClip: 3 } as typeof base)
    expect(layoutKey(other)).toBe(layoutKey(plain))
    expect(() => layoutKey({} as never)).toThrow()
  })
})
