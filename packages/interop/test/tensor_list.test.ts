import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { joinedName, LONGEST_NAME } from '../src/files/joined_name.js'
import { TensorList } from '../src/files/tensor_list.js'

const corrupt = coded('ERR_WEIGHTS_CORRUPT')

describe('TensorList', () => {
  it('keeps tensors in order', () => {
    const list = new TensorList<{ readonly name: string }>('file', 0)
    for (const name of ['b', 'a', 'b']) list.add({ name })
    expect(list.tensors).toEqual([{ name: 'b' }, { name: 'a' }, { name: 'b' }])
  })

  it('refuses a name that is too long, and keeps the tensors before it', () => {
    const list = new TensorList<{ readonly name: string }>('file', 0)
    list.add({ name: 'a'.repeat(LONGEST_NAME) })
    expect(() => list.add({ name: 'a'.repeat(LONGEST_NAME + 1) })).toThrow(corrupt)
    expect(list.tensors).toHaveLength(1)
  })

  it.each([2 ** 53, -1, 0.5, Number.NaN])('refuses a dimension of %s', (size) => {
    const list = new TensorList<{ readonly name: string; readonly shape: readonly number[] }>('file', 0)
    expect(() => list.add({ name: 'a', shape: [0, size] })).toThrow(corrupt)
  })

  it('refuses names that together are longer than the file', () => {
    const name = 'a'.repeat(LONGEST_NAME)
    const free = 2 ** 23 / LONGEST_NAME
    const list = new TensorList<{ readonly name: string }>('file', LONGEST_NAME)
    for (let count = 0; count < free + 1; count++) list.add({ name })
    expect(() => list.add({ name })).toThrow(corrupt)
  })

  it('refuses more tensors than any model has', () => {
    const list = new TensorList<{ readonly name: string }>('file', 0)
    for (let count = 0; count < 2 ** 17; count++) list.add({ name: '' })
    expect(() => list.add({ name: '' })).toThrow(coded('ERR_WEIGHTS_UNSUPPORTED'))
  })
})

describe('joinedName', () => {
  it('joins names, and leaves an outermost one', () => {
    expect(joinedName('file', 'outer', '/', 'inner')).toBe('outer/inner')
    expect(joinedName('file', '', '.', 'inner')).toBe('inner')
  })

  it('refuses a joined name that is too long, and shows its beginning', () => {
    expect(joinedName('file', 'a'.repeat(LONGEST_NAME - 2), '.', 'b')).toHaveLength(LONGEST_NAME)
    expect(() => joinedName('file', 'a'.repeat(LONGEST_NAME - 1), '.', 'b')).toThrow(/longer than 4096: a{64}…/)
  })
})
