import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { DropoutMasks } from '../../src/cell/dropout_masks.js'
import { DropoutWrapper, dynamicRnn, LSTMCell, UGRNNCell } from '../../src/index.js'
import type { DropoutWrapperOptions } from '../../src/wrappers/dropout_wrapper.js'
import { float64 } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'

const dtype = 'float64' as const
const [T, B, I, H] = [5, 40, 3, 4] as const
const x = () => float64(fill(T * B * I, FILLS.x), [T, B, I])

function wrapped(options: DropoutWrapperOptions) {
  const cell = new DropoutWrapper(new UGRNNCell(H, { dtype }), options)
  cell.build(I, { seed: 1 })
  return cell
}

const run = (options: DropoutWrapperOptions, training = true) =>
  dynamicRnn(wrapped(options), x(), { timeMajor: true, training })

describe('DropoutMasks', () => {
  it('draws factors of 0 and 1/keepProb, and continues where it ended', () => {
    const masks = new DropoutMasks(3)
    const mask = masks.draw('float64', 4000, 0.25)
    expect(new Set(mask)).toEqual(new Set([0, 4]))
    // The kept part has a standard deviation of 0.007.
    expect(Math.abs(mask.filter((factor) => factor > 0).length / 4000 - 0.25)).toBeLessThan(0.03)
    expect(masks.position).toBe(4000)
    const next = masks.draw('float64', 10, 0.5)
    masks.position = 4000
    expect(masks.draw('float64', 10, 0.5)).toEqual(next)
  })
})

describe('DropoutWrapper', () => {
  it('drops elements of the output alone, scaled by 1/outputKeepProb', () => {
    const plain = run({})
    const dropped = run({ outputKeepProb: 0.5, seed: 2 })
    expect(dropped.state).toEqual(plain.state)
    const factors = Array.from(dropped.outputs.data, (value, k) => value / plain.outputs.data[k])
    expect(new Set(factors.map((factor) => Math.round(factor * 1e9) / 1e9))).toEqual(new Set([0, 2]))
  })

  it('drops nothing in inference, and draws nothing', () => {
    const options = { inputKeepProb: 0.5, outputKeepProb: 0.5, stateKeepProb: 0.5 }
    expect(run(options, false).outputs).toEqual(run({}, false).outputs)
    const cell = wrapped(options)
    dynamicRnn(cell, x(), { timeMajor: true, training: false })
    expect(cell.randomState()).toEqual([0])
  })

  it('has one mask for all steps and rows if it is variational, and a new one in each run', () => {
    const cell = wrapped({ outputKeepProb: 0.5, variationalRecurrent: true, seed: 2 })
    const columnsOf = () => {
      const { outputs } = dynamicRnn(cell, x(), { timeMajor: true })
      const dropped = Array.from({ length: H }, (_, unit) => {
        const zeros = outputs.data.filter((value, k) => k % H === unit && value === 0).length
        expect([0, T * B]).toContain(zeros)
        return zeros > 0
      })
      return dropped.join()
    }
    const seen = new Set(Array.from({ length: 12 }, columnsOf))
    expect(seen.size).toBeGreaterThan(1)
    expect(cell.randomState()).toEqual([12 * H])
  })

  it('draws the same masks again from a restored state', () => {
    const cell = wrapped({ inputKeepProb: 0.7, stateKeepProb: 0.7 })
    const state = cell.randomState()
    const first = dynamicRnn(cell, x(), { timeMajor: true }).outputs
    expect(dynamicRnn(cell, x(), { timeMajor: true }).outputs).not.toEqual(first)
    cell.restoreRandomState(state)
    expect(dynamicRnn(cell, x(), { timeMajor: true }).outputs).toEqual(first)
    expect(() => cell.restoreRandomState([1, 2])).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => cell.restoreRandomState([-1])).toThrow(coded('ERR_INVALID_OPTION'))
  })

  it('keeps the c of an LSTM unless the filter names it', () => {
    const step = (options: DropoutWrapperOptions) => {
      const cell = new DropoutWrapper(new LSTMCell(H, { dtype }), { stateKeepProb: 0.5, ...options })
      cell.build(I, { seed: 1 })
      return cell.call(float64(fill(B * I, FILLS.x), [B, I]), cell.zeroState(B)).state
    }
    const zeros = (data: ArrayLike<number>) => Array.from(data).filter((value) => value === 0).length
    const seen: string[] = []
    const [first, second] = [
      step({}),
      step({
        dropoutStateFilter: (path) => {
          seen.push(path)
          return path.endsWith('.c')
        },
      }),
    ]
    expect([zeros(first.c.data), zeros(second.h.data)]).toEqual([0, 0])
    expect(zeros(first.h.data)).toBeGreaterThan(B)
    expect(zeros(second.c.data)).toBeGreaterThan(B)
    expect(seen).toEqual(['state.c', 'state.h'])
  })

  it.each<[object, string]>([
    [{ inputKeepProb: 0 }, 'ERR_INVALID_OPTION'],
    [{ outputKeepProb: 1.01 }, 'ERR_INVALID_OPTION'],
    [{ stateKeepProb: Number.NaN }, 'ERR_INVALID_OPTION'],
    [{ seed: -1 }, 'ERR_INVALID_OPTION'],
    [{ variationalRecurrent: 'yes' }, 'ERR_INVALID_OPTION_TYPE'],
    [{ dropoutStateFilter: true }, 'ERR_INVALID_OPTION_TYPE'],
    [{ keepProb: 0.5 }, 'ERR_UNKNOWN_OPTION'],
  ])('refuses %o', (options, code) => {
    expect(() => wrapped(options)).toThrow(coded(code))
  })
})
