import { addProduct } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { CellTape, tapeWhen } from '../../src/cell/cell_tape.js'
import { dynamicRnn, LSTMCell, MultiRNNCell, type RNNCell, UGRNNCell } from '../../src/index.js'
import { anyState, filledLike, float64 } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'

const dtype = 'float64' as const

describe('CellTape', () => {
  it('serves one backward, and forgets it', () => {
    let calls = 0
    const tape = new CellTape((given: number) => () => given + ++calls)
    expect(tape.gradients(10)).toBe(11)
    expect(tape.state).toBe('consumed')
    expect(() => tape.gradients(10)).toThrow(coded('ERR_TAPE_CONSUMED'))
    expect(calls).toBe(1)
  })

  it('stays open where its argument is refused, and ends where the computation fails', () => {
    const [refusal, failure] = [new TypeError('argument'), new RangeError('out of memory')]
    const tape = new CellTape((given: Error) => {
      if (given === refusal) throw refusal
      return () => {
        throw given
      }
    })
    expect(() => tape.gradients(refusal)).toThrow(refusal)
    expect(tape.state).toBe('open')
    expect(() => tape.gradients(failure)).toThrow(failure)
    expect(() => tape.gradients(failure)).toThrow(coded('ERR_TAPE_CONSUMED'))
  })

  it('refuses a backward once it was disposed', () => {
    const tape = new CellTape(() => () => 1)
    tape.dispose()
    expect(() => tape.gradients(undefined)).toThrow(coded('ERR_TAPE_DISPOSED'))
  })
})

describe('tapeWhen', () => {
  it('is a tape unless training is false', () => {
    expect(tapeWhen(false, () => () => 1)).toBeUndefined()
    expect(tapeWhen(true, () => () => 1)).toBeInstanceOf(CellTape)
    expect(tapeWhen(undefined, () => () => 1)).toBeInstanceOf(CellTape)
  })
})

/** Products that fail at call number `failing`, counted from where it is set. */
function failingProducts() {
  const state = { calls: 0, failing: -1 }
  const backend = {
    name: 'failing',
    dtype,
    products: {
      addProduct(...operands: Parameters<typeof addProduct>) {
        if (state.calls++ === state.failing) throw new RangeError('out of memory')
        addProduct(...operands)
      },
    },
  } as const
  return { state, backend }
}

describe('a tape whose backward fails', () => {
  const cells: readonly [string, () => RNNCell<never>][] = [
    ['LSTMCell', () => new LSTMCell(3, { dtype }) as never],
    ['UGRNNCell', () => new UGRNNCell(3, { dtype }) as never],
    ['MultiRNNCell', () => new MultiRNNCell([new UGRNNCell(2, { dtype }), new LSTMCell(3, { dtype })]) as never],
  ]

  // Values of a graph hold the sums of a backward: a second one would add to the first one's.
  it.each(cells)('gives no gradients any more, whichever product failed: %s', (_, make) => {
    const cell = anyState(make())
    cell.build(2, { seed: 1 })
    const inputs = float64(fill(4 * 2 * 2, FILLS.x), [4, 2, 2])
    const expected = dynamicRnn(cell, inputs, { timeMajor: true })
    const outputs = float64(fill(expected.outputs.data.length, FILLS.weights), expected.outputs.shape)
    const state = filledLike(expected.state, FILLS.weights)
    const gradients = expected.tape.gradients({ outputs, state })
    const { state: failing, backend } = failingProducts()
    // Each product of a backward fails once.
    for (let call = 0; ; call++) {
      Object.assign(failing, { calls: 0, failing: -1 })
      const { tape } = dynamicRnn(cell, inputs, { timeMajor: true, backend })
      Object.assign(failing, { calls: 0, failing: call })
      let first: unknown
      try {
        first = tape.gradients({ outputs, state })
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
      if (first !== undefined) {
        expect(first).toEqual(gradients)
        expect(call).toBeGreaterThan(2)
        break
      }
      expect(() => tape.gradients({ outputs, state })).toThrow(coded('ERR_TAPE_CONSUMED'))
    }
  })
})
