import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { createRnnDescriptor, describeValue, layoutKey, type RnnOptions } from '../src/index.js'

const base: RnnOptions = { cellMode: 'lstm', numLayers: 2, numUnits: 4, inputSize: 3 }
const build = (changes: Record<string, unknown>) => () => createRnnDescriptor({ ...base, ...changes } as RnnOptions)

describe('createRnnDescriptor', () => {
  it('fills the defaults and freezes the result', () => {
    const descriptor = createRnnDescriptor(base)
    expect(descriptor).toEqual({
      ...base,
      inputMode: 'linear_input',
      direction: 'unidirectional',
      numProj: undefined,
      biasMode: 'double',
      cellClip: undefined,
      dropout: 0,
      seed: 0,
    })
    expect(Object.isFrozen(descriptor)).toBe(true)
  })

  it('resolves auto_select to skip_input exactly when I = H', () => {
    expect(build({ inputMode: 'auto_select', inputSize: 4 })().inputMode).toBe('skip_input')
    expect(build({ inputMode: 'auto_select', inputSize: 5 })().inputMode).toBe('linear_input')
    expect(build({ inputMode: 'linear_input', inputSize: 4 })().inputMode).toBe('linear_input')
  })

  it('takes numProj = numUnits as no projection, as cuDNN does', () => {
    expect(build({ numProj: 4 })().numProj).toBeUndefined()
    expect(build({ numProj: 3 })().numProj).toBe(3)
  })

  it('takes its own result as options', () => {
    const descriptor = build({ numProj: 2, cellClip: 3, dropout: 0.5, seed: 7 })()
    expect(createRnnDescriptor(descriptor)).toEqual(descriptor)
  })

  it.each([
    ['numLayers', 0],
    ['numLayers', -1],
    ['numLayers', 1.5],
    ['numUnits', Number.NaN],
    ['numUnits', Number.POSITIVE_INFINITY],
    ['numUnits', 2 ** 31],
    ['inputSize', 0],
    ['numProj', 0],
    ['numProj', 5],
    ['cellClip', 0],
    ['cellClip', -1],
    ['cellClip', Number.NaN],
    ['dropout', -0.1],
    ['dropout', 1.1],
    ['dropout', Number.NaN],
    ['seed', -1],
    ['seed', 0.5],
    ['seed', 2 ** 53],
    ['cellMode', 'LSTM'],
    ['inputMode', 'skip'],
    ['direction', 'both'],
    ['biasMode', 'two'],
  ])('refuses %s %s with ERR_INVALID_OPTION', (option, value) => {
    const refusal = expect.objectContaining({ name: 'RangeError', code: 'ERR_INVALID_OPTION', option, value })
    expect(build({ [option]: value })).toThrow(refusal)
    expect(build({ [option]: value })).toThrow(`: current value is ${describeValue(value)}`)
  })

  it.each([
    ['numUnits', '4'],
    ['numUnits', undefined],
    ['numLayers', null],
    ['dropout', true],
    ['cellMode', 4],
  ])('refuses %s %s with ERR_INVALID_OPTION_TYPE', (option, value) => {
    const refusal = expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_OPTION_TYPE', option, value })
    expect(build({ [option]: value })).toThrow(refusal)
  })

  it.each([null, undefined, 'lstm'])('refuses %s in place of options', (options) => {
    const refusal = coded('ERR_INVALID_OPTION_TYPE')
    expect(() => createRnnDescriptor(options as never)).toThrow(refusal)
  })

  it.each([
    ['num_units', 'numUnits'],
    ['numUnit', 'numUnits'],
    ['bidirectional', 'direction'],
    ['tint', undefined],
    ['droput', 'dropout'],
    ['NumLayers', 'numLayers'],
  ])('refuses the option name %s and suggests %s', (option, suggestion) => {
    const refusal = expect.objectContaining({ name: 'TypeError', code: 'ERR_UNKNOWN_OPTION', option, suggestion })
    expect(build({ [option]: 4 })).toThrow(refusal)
    expect(build({ [option]: 4 })).toThrow(suggestion === undefined ? 'Known options: ' : `Did you mean ${suggestion}?`)
  })

  it('refuses skip_input with I ≠ H, naming both', () => {
    const refusal = coded('ERR_SKIP_INPUT_SIZE', { inputSize: 3, numUnits: 4 })
    expect(build({ inputMode: 'skip_input' })).toThrow(refusal)
    expect(build({ inputMode: 'skip_input', inputSize: 4 })().inputMode).toBe('skip_input')
  })

  it.each(['numProj', 'cellClip'])('refuses %s on a cell other than lstm', (option) => {
    const refusal = coded('ERR_NOT_LSTM', { option, cellMode: 'gru' })
    expect(build({ cellMode: 'gru', [option]: 2 })).toThrow(refusal)
  })
})

describe('layoutKey', () => {
  it('differs when the regions differ', () => {
    const changes = [{}, { cellMode: 'gru' }, { numLayers: 3 }, { numUnits: 5 }, { inputSize: 5 }, { numProj: 2 }]
    const more = [{ direction: 'bidirectional' }, { biasMode: 'none' }, { inputSize: 4 }]
    const keys = [...changes, ...more].map((change) => layoutKey(build(change)()))
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('does not depend on dropout, seed and clip', () => {
    expect(layoutKey(build({ dropout: 0.5, seed: 3, cellClip: 1 })())).toBe(layoutKey(build({})()))
  })
})
