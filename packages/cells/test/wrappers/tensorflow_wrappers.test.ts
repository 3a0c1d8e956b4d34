import { elementCount } from '@cudnn-rnn/canonical'
import { expect, test } from 'vitest'
import fixture from '../../../../fixtures/cells/tensorflow_wrappers.json' with { type: 'json' }
import type { CellState } from '../../src/cell/cell_state.js'
import { AttentionCellWrapper, HighwayWrapper, LSTMCell } from '../../src/index.js'
import { anyState, expectClose, float64, leaves } from '../cell_checks.js'

const dtype = 'float64'
const [T, B, I, U] = [2, 2, 3, 3]

/** The fills of fixtures/cells/make_tensorflow_wrappers.py. */
function filled(shape: readonly number[], a: number, m: number, o: number, d: number) {
  const count = elementCount(shape)
  return float64(
    Float64Array.from({ length: count }, (_, n) => (((n * a) % m) - o) / d),
    shape,
  )
}

const state = () => ({ c: filled([B, U], 3, 8, 3, 5), h: filled([B, U], 2, 5, 2, 5) })

test.each([
  [
    'attention' as const,
    () => new AttentionCellWrapper(new LSTMCell(U, { dtype }), 2, { attnSize: 4, attnVecSize: 5 }),
    () => [state(), filled([B, 4], 5, 11, 5, 10), filled([B, 8], 4, 13, 6, 10)],
  ],
  ['highway' as const, () => new HighwayWrapper(new LSTMCell(U, { dtype })), state],
  [
    'uncoupled' as const,
    () => new HighwayWrapper(new LSTMCell(U, { dtype }), { coupleCarryTransformGates: false }),
    state,
  ],
])("%s: two steps give TensorFlow's numbers", (name, make, initial) => {
  const cell = anyState(make())
  cell.build(I)
  const values = [...cell.variables].map(([variable, { shape }]) => {
    if (variable === 'transform_b')
      return [
        variable,
        float64(
          filled(shape, 3, 7, 3, 10).data.map((v) => -v),
          shape,
        ),
      ]
    const isVector = shape.length === 1
    return [variable, isVector ? filled(shape, 3, 7, 3, 10) : filled(shape, 7, 17, 8, 20)]
  })
  cell.setVariables(Object.fromEntries(values))
  const inputs = filled([T, B, I], 5, 9, 4, 4)
  let before = initial() as CellState
  for (const [t, expected] of fixture[name].entries()) {
    const x = float64(inputs.data.slice(t * B * I, (t + 1) * B * I), [B, I])
    const { output, state: after } = cell.call(x, before)
    const actual = [output, ...leaves(after)]
    expect(actual).toHaveLength(expected.length)
    for (const [k, tensor] of actual.entries()) expectClose(tensor.data, expected[k], 1e-13, `step ${t}, tensor ${k}`)
    before = after
  }
})
