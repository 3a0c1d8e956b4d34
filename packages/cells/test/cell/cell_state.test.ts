import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type CellState, checkState, mapState, type StateTree, zeroState } from '../../src/cell/cell_state.js'
import { float32, float64 } from '../cell_checks.js'

/** An LSTM below a list of an LSTM and one tensor. */
const SIZE = [{ c: 3, h: 2 }, [{ c: 1, h: 1 }, 4]] as const

describe('mapState', () => {
  it('visits leaves by their path, an LSTM’s c before its h', () => {
    const paths: string[] = []
    const doubled = mapState([SIZE as StateTree<number>], ([size], path) => {
      paths.push(path)
      return 2 * size
    })
    expect(doubled).toEqual([{ c: 6, h: 4 }, [{ c: 2, h: 2 }, 8]])
    expect(paths).toEqual(['state[0].c', 'state[0].h', 'state[1][0].c', 'state[1][0].h', 'state[1][1]'])
  })

  it('gives corresponding leaves of several trees', () => {
    const trees: StateTree<number>[] = [
      { c: 1, h: 2 },
      { c: 10, h: 20 },
      { c: 100, h: 200 },
    ]
    expect(mapState(trees, (leaves) => leaves.reduce((sum, leaf) => sum + leaf, 0))).toEqual({ c: 111, h: 222 })
  })

  it('of a single leaf is its result', () => {
    expect(mapState([5], ([size], path) => `${path} ${size}`)).toBe('state 5')
  })
})

describe('zeroState', () => {
  it('has the structure of the sizes, new tensors, and the dtype', () => {
    const state = zeroState(SIZE, 2, 'float64') as readonly [{ c: { data: Float64Array } }, CellState]
    expect(state[0]).toEqual({ c: float64(new Array(6).fill(0), [2, 3]), h: float64([0, 0, 0, 0], [2, 2]) })
    state[0].c.data[0] = 1
    expect((zeroState(SIZE, 2, 'float64') as typeof state)[0].c.data[0]).toBe(0)
  })
})

describe('checkState', () => {
  const check = (state: unknown, size: Parameters<typeof checkState>[2] = SIZE) =>
    checkState('call lstm', state as CellState, size, 2, 'float32')

  it('returns the state as it was read', () => {
    const given = zeroState(SIZE, 2, 'float32')
    const checked = check(given)
    expect(checked).toEqual(given)
    expect(checked).not.toBe(given)
  })

  const lstm = zeroState({ c: 3, h: 2 }, 2, 'float32')
  const one = zeroState(4, 2, 'float32')
  const tuple = zeroState({ c: 1, h: 1 }, 2, 'float32')

  it.each<[string, unknown, string]>([
    ['one tensor in place of a list', one, 'state'],
    ['a list that is too short', [lstm], 'state'],
    ['a list that is too long', [lstm, [tuple, one], one], 'state'],
    [
      'a list in place of an LSTM’s pair',
      [
        [lstm, lstm],
        [tuple, one],
      ],
      'state[0]',
    ],
    ['a tensor in place of an LSTM’s pair', [one, [tuple, one]], 'state[0]'],
    ['a pair without h', [{ c: one }, [tuple, one]], 'state[0]'],
    ['a pair in place of a tensor', [lstm, [tuple, tuple]], 'state[1][1]'],
    ['nothing', undefined, 'state'],
    ['null in a list', [lstm, null], 'state[1]'],
  ])('refuses %s, naming its place', (_, state, argument) => {
    expect(() => check(state)).toThrow(coded('ERR_STATE_STRUCTURE', { name: 'TypeError', argument }))
  })

  it.each<[string, unknown, string, string]>([
    ['a tensor of other rows', zeroState(4, 3, 'float32'), 'ERR_SHAPE', 'state'],
    ['a tensor of other columns', zeroState(3, 2, 'float32'), 'ERR_SHAPE', 'state'],
    ['a tensor of another dtype', zeroState(4, 2, 'float64'), 'ERR_DTYPE', 'state'],
    ['no tensor', null, 'ERR_NOT_A_TENSOR', 'state'],
  ])('refuses %s', (_, state, code, argument) => {
    expect(() => check(state, 4)).toThrow(coded(code, { argument }))
  })

  it('names the tensor of a pair that does not fit', () => {
    const wrong = { c: float32(new Array(6).fill(0), [2, 3]), h: float32(new Array(6).fill(0), [2, 3]) }
    expect(() => check(wrong, { c: 3, h: 2 })).toThrow(coded('ERR_SHAPE', { argument: 'state.h' }))
  })
})
