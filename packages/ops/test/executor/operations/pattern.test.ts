import { required } from '@cudnn-rnn/canonical/rules'
import { describe, expect, it } from 'vitest'
import {
  bindShape,
  expectedShape,
  noSizes,
  parsePattern,
  resultShape,
} from '../../../src/executor/operations/pattern.js'

const pattern = (text: string) => required(parsePattern(text), 'a pattern')

/** Sizes after these shapes were bound. */
function bound(...shapes: readonly (readonly [string, readonly number[]])[]) {
  const sizes = noSizes()
  for (const [text, shape] of shapes) expect(bindShape(pattern(text), shape, sizes)).toBe(true)
  return sizes
}

describe('parsePattern', () => {
  it.each([
    ['x [T,B,E]', { name: 'x', key: 'x', isOptional: false, isList: false, hasLeading: false, bound: undefined }],
    ['parts... […,E*]', { key: 'parts', isList: true, hasLeading: true }],
    ['lengths?:0..T [B]', { key: 'lengths', isOptional: true, bound: { isBelow: false } }],
    ['ids:0..V-1 […]', { key: 'ids', hasLeading: true, bound: { isBelow: true } }],
    ['variables.period [U]', { name: 'variables.period', key: 'period' }],
  ])('reads %s', (text, expected) => {
    expect(parsePattern(text)).toMatchObject(expected)
  })

  it('takes a name without a shape for an option', () => {
    expect(parsePattern('activation')).toBeUndefined()
  })
})

describe('bindShape and expectedShape', () => {
  it.each<[string, readonly number[], string, readonly (readonly [string, readonly number[]])[]]>([
    ['x [T,B,E]', [4, 2], 'T,B,E', []],
    ['gamma [E]', [2], '3', [['x […,E]', [5, 3]]]],
    ['x […,I]', [2, 5], 'N1,3', [['kernel [I,O]', [3, 4]]]],
    ['x […,E]', [], '…,E', []],
    ['targets […,E]', [5, 2], '5,3', [['x […,E]', [5, 3]]]],
    ['scores [T,B,1]', [4, 2, 2], '4,2,1', [['x [T,B,E]', [4, 2, 3]]]],
    ['parts […,E*]', [3, 2], '2,E', [['parts […,E*]', [2, 1]]]],
  ])('%s refuses %j, as it must be [%s]', (text, shape, expected, before) => {
    const sizes = bound(...before)
    expect(bindShape(pattern(text), shape, sizes)).toBe(false)
    expect(expectedShape(pattern(text), shape, sizes).join(',')).toBe(expected)
  })

  it('binds nothing of a shape that does not fit', () => {
    const sizes = bound(['kernel [I,O]', [3, 4]])
    expect(bindShape(pattern('x [T,I]'), [7, 2], sizes)).toBe(false)
    expect(sizes).toEqual(bound(['kernel [I,O]', [3, 4]]))
  })

  it('lets a size that is free differ', () => {
    expect(
      resultShape(pattern('y […,columns]'), bound(['a […,E*]', [2, 1]], ['a […,E*]', [2, 3]]), { columns: 4 }),
    ).toEqual([2, 4])
  })
})

describe('resultShape', () => {
  it.each([
    ['y []', []],
    ['y […,O]', [5, 2, 4]],
    ['y [B,count]', [2, 9]],
    ['y [shape]', [6, 7]],
  ])('of %s', (text, expected) => {
    const sizes = bound(['x […,I]', [5, 2, 3]], ['kernel [I,O]', [3, 4]], ['z [B]', [2]])
    expect(resultShape(pattern(text), sizes, { count: 9, shape: [6, 7] })).toEqual(expected)
  })
})
