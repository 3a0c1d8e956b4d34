import { elementCount } from '@cudnn-rnn/canonical'
import type { Tensor } from '@tensorflow/tfjs'
import { describe, expect, test } from 'vitest'
import { planCall } from '../src/plan_call.js'
import type { CallArguments, RecurrentLayer } from '../src/recurrent_layer.js'
import type { RecurrentClasses } from '../src/tensor_flow.js'

class LSTM {}
class RNN {}
class LSTMCell {}
class GRUCell {}
class StackedRNNCells {}
class OwnCell {}

const CLASSES: RecurrentClasses = {
  rnn: RNN,
  singleCell: [LSTM],
  cells: new Map<unknown, 'LSTMCell' | 'GRUCell' | 'StackedRNNCells'>([
    [LSTMCell, 'LSTMCell'],
    [GRUCell, 'GRUCell'],
    [StackedRNNCells, 'StackedRNNCells'],
  ]),
}

const tensor = (...shape: number[]) => ({ shape, rank: shape.length, size: elementCount(shape) }) as unknown as Tensor

/** An instance of a class with fields, as TensorFlow.js has them. */
const instance = (Class: new () => object, fields: object) =>
  Object.assign(new Class(), { getClassName: () => Class.name, ...fields })
const weight = (...shape: number[]) => ({ read: () => tensor(...shape) })
const named = (name: string) => ({ getClassName: () => name })
const cell = (Class: new () => object, fields: object = {}, inputs = 5) => {
  const { units = 4 } = fields as { readonly units?: number }
  const width = (Class === GRUCell ? 3 : 4) * units
  return instance(Class, {
    units,
    activation: named('tanh'),
    recurrentActivation: named('hardSigmoid'),
    ...{ kernel: weight(inputs, width), recurrentKernel: weight(units, width), bias: weight(width) },
    dropout: 0,
    recurrentDropout: 0,
    ...fields,
  })
}
const layerOf = (own: object, fields: object = {}, Class: new () => object = LSTM) =>
  instance(Class, { name: 'layer', cell: own, stateful: false, states_: null, ...fields }) as unknown as RecurrentLayer

const X = tensor(2, 3, 5)
const plan = (layer: RecurrentLayer, given: object | null = null, x: Tensor | Tensor[] = X) =>
  planCall(CLASSES, layer, x, given as CallArguments | null, ['tanh', 'hardSigmoid', 'linear'])
const lstm = (fields: object = {}) => layerOf(cell(LSTMCell, fields))
const states = (count: number, ...shape: number[]) => Array.from({ length: count }, () => tensor(...shape))

/** A call that must not be passed on. */
function planned(found: ReturnType<typeof planCall>) {
  if (typeof found === 'string') throw new Error(found)
  return found
}

describe('a call that is computed', () => {
  test('has the input, the mask, and the cell with the names of its equation', () => {
    const mask = tensor(2, 3)
    for (const [x, given] of [
      [X, mask],
      [[X], [mask]],
    ] as const) {
      expect(plan(lstm(), { mask: given, training: true }, x as Tensor)).toMatchObject({
        x: X,
        mask,
        training: true,
        cells: [{ kind: 'lstm', activation: 'tanh', recurrentActivation: 'hardSigmoid', dropout: 0 }],
        states: [null],
      })
    }
    expect(plan(lstm(), undefined as never)).toMatchObject({ mask: null, training: false })
  })

  test('is linear in its gates where the cell has none', () => {
    expect(plan(lstm({ recurrentActivation: undefined }))).toMatchObject({ cells: [{ recurrentActivation: 'linear' }] })
  })

  test('has the states that are given for the top cell first, for the cells from the lowest up', () => {
    const stack = instance(StackedRNNCells, { cells: [cell(GRUCell, { units: 6 }), cell(LSTMCell, { units: 4 }, 6)] })
    const [h, c, below] = [tensor(2, 4), tensor(2, 4), tensor(2, 6)]
    const found = planned(plan(layerOf(stack, {}, RNN), { initialState: [h, c, below] }))
    expect(found.cells.map(({ kind }) => kind)).toEqual(['gru', 'lstm'])
    expect(found.states[0]?.[0]).toBe(below)
    expect(found.states[1]?.[0]).toBe(h)
    expect(found.states[1]?.[1]).toBe(c)
  })

  test('begins from the states of a stateful layer, unless others are given', () => {
    const [kept, given] = [states(2, 2, 4), states(2, 2, 4)]
    const layer = layerOf(cell(LSTMCell), { stateful: true, states_: kept })
    expect(planned(plan(layer)).states[0]?.[0]).toBe(kept[0])
    expect(planned(plan(layer, { initialState: given })).states[0]?.[0]).toBe(given[0])
    expect(plan(layerOf(cell(LSTMCell), { stateful: true }))).toMatchObject({ states: [null] })
  })

  test('drops inputs in training, at rates between 0 and 1', () => {
    expect(plan(lstm({ dropout: 0.5 }), { training: true })).toMatchObject({ cells: [{ dropout: 0.5 }] })
    for (const given of [{ training: false }, { training: null }, {}])
      expect(plan(lstm({ dropout: 0.5 }), given)).toMatchObject({ cells: [{ dropout: 0 }] })
    for (const dropout of [0, 1])
      expect(plan(lstm({ dropout }), { training: true })).toMatchObject({ cells: [{ dropout: 0 }] })
    expect(plan(lstm({ recurrentDropout: 0.5 }))).toMatchObject({ cells: [{ dropout: 0 }] })
  })
})

describe('a call is passed on to TensorFlow.js', () => {
  test.each<[string, RecurrentLayer, object | null, Tensor | Tensor[]]>([
    ['its input must be [B,T,I] and not empty', lstm(), null, tensor(2, 3)],
    ['its input must be [B,T,I] and not empty', lstm(), null, tensor(2, 3, 5, 1)],
    ['its input must be [B,T,I] and not empty', lstm(), null, tensor(0, 3, 5)],
    ['its input must be [B,T,I] and not empty', lstm(), null, tensor(2, 0, 5)],
    ['its input must be one tensor', lstm(), null, []],
    ['its input must be one tensor', lstm(), null, [X, tensor(2, 4)]],
    ['its mask must be [B,T]', lstm(), { mask: tensor(2, 3, 1) }, X],
    ['its mask must be [B,T]', lstm(), { mask: tensor(2, 4) }, X],
    ['its mask must be [B,T]', lstm(), { mask: tensor(3, 2) }, X],
    ['its input is complex64', lstm(), null, { ...X, dtype: 'complex64' } as Tensor],
    ['its weights must fit its input and its units', lstm(), null, tensor(2, 3, 4)],
    ['its weights must fit its input and its units', lstm({ recurrentKernel: weight(5, 16) }), null, X],
    ['its weights must fit its input and its units', lstm({ bias: weight(12) }), null, X],
    [
      'its weights must fit its input and its units',
      layerOf(instance(StackedRNNCells, { cells: [cell(GRUCell), cell(LSTMCell)] }), {}, RNN),
      null,
      X,
    ],
    ['its cell is OwnCell', layerOf(cell(OwnCell)), null, X],
    ['it has no weights yet', lstm({ kernel: undefined }), null, X],
    ['its activation is selu', lstm({ activation: named('selu') }), null, X],
    ['its recurrentActivation is mine', lstm({ recurrentActivation: named('mine') }), null, X],
    ['it has recurrentDropout', lstm({ recurrentDropout: 0.5 }), { training: true }, X],
    ['it has dropout in a cell of rnn', layerOf(cell(LSTMCell, { dropout: 0.5 }), {}, RNN), null, X],
    ['it has dropout in a cell of rnn', layerOf(cell(LSTMCell, { recurrentDropout: 0.5 }), {}, RNN), null, X],
    [
      'its cell is OwnCell',
      layerOf(instance(StackedRNNCells, { cells: [cell(GRUCell), cell(OwnCell)] }), {}, RNN),
      null,
      X,
    ],
    [
      'its cell is StackedRNNCells',
      layerOf(instance(StackedRNNCells, { cells: [instance(StackedRNNCells, { cells: [] })] }), {}, RNN),
      null,
      X,
    ],
    ['its initial states must be one per state of its cells', lstm(), { initialState: states(1, 2, 4) }, X],
    ['its initial states must be one per state of its cells', lstm(), { initialState: states(3, 2, 4) }, X],
    ['its initial states must be [B,H]', lstm(), { initialState: states(2, 1, 4) }, X],
    ['its initial states must be [B,H]', lstm(), { initialState: states(2, 2, 3) }, X],
    ['its initial states must be [B,H]', lstm(), { initialState: states(2, 8) }, X],
  ])('as %s', (reason, layer, given, x) => {
    expect(plan(layer, given, x)).toBe(reason)
  })
})
