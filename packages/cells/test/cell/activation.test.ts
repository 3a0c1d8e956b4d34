import { elementwiseFunction } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { executorActivation, ofBoundedArgument } from '../../src/cell/activation.js'
import { checkDivisible } from '../../src/kinds/glstm_cell.js'
import { GRUBlockCell, LSTMCell, UGRNNCell } from '../../src/index.js'
import { kernelInitializer } from '../../src/cell/kernel_initializer.js'
import { inScope, joinScopes, scopedName } from '../../src/cell/variable_scopes.js'

describe('ofBoundedArgument', () => {
  it('is the activation itself without a bound', () => {
    const f = elementwiseFunction('sigmoid')
    expect(ofBoundedArgument(f, Number.POSITIVE_INFINITY, 'float32')).toBe(f)
  })

  it.each(['float32', 'float64'] as const)(
    'bounds the argument, with a slope of 0 from the bound on, in %s',
    (dtype) => {
      const bounded = ofBoundedArgument(elementwiseFunction('tanh'), 0.5, dtype)
      const stored = dtype === 'float32' ? Math.fround : (value: number) => value
      for (const x of [0.5, 0.7, 100]) {
        expect([bounded.value(x), bounded.value(-x)]).toEqual([Math.tanh(0.5), Math.tanh(-0.5)])
        expect([x, -x].map((each) => bounded.slope(stored(bounded.value(each))))).toEqual([0, 0])
      }
      expect(bounded.value(0.3)).toBe(Math.tanh(0.3))
      expect(bounded.slope(stored(Math.tanh(0.3)))).toBeCloseTo(1 - Math.tanh(0.3) ** 2, 7)
    },
  )
})

describe('executorActivation', () => {
  it('has operations of executors, with the parameters that they compute', () => {
    expect(executorActivation('hard_sigmoid')).toEqual({ operation: 'relu', maximum: 1, scale: 0.2, shift: 0.5 })
    expect(executorActivation('elu')).toEqual({ operation: 'elu' })
    expect([executorActivation({ name: 'elu', alpha: 2 }), executorActivation('gelu')]).toEqual([undefined, undefined])
    expect([
      new LSTMCell(2, { activation: 'relu6' }),
      new LSTMCell(2, { recurrentActivation: 'softsign' }),
    ]).toMatchObject([{ runsOnTensors: true }, { runsOnTensors: false }])
  })
})

describe('checkDivisible', () => {
  it('takes multiples, 0 included', () => {
    for (const size of [0, 3, 9]) checkDivisible('build a cell', 'numUnits', size, 3)
    expect(() => checkDivisible('build a cell', 'numUnits', 4, 3)).toThrow(
      coded('ERR_INVALID_OPTION', { option: 'numUnits', value: 4 }),
    )
  })
})

describe('kernelInitializer', () => {
  it('draws from ±uniform, or is the rule or number given', () => {
    expect([kernelInitializer(), kernelInitializer(0.5)]).toEqual(['glorot_uniform', 0.5])
    const cell = new UGRNNCell(50, { initializer: { uniform: 0.01 } })
    cell.build(30)
    const { data } = cell.variables.get('kernel')!
    expect(data.every((value) => Math.abs(value) <= Math.fround(0.01))).toBe(true)
    expect([Math.max(...data) > 0.0098, Math.min(...data) < -0.0098]).toEqual([true, true])
  })

  it.each(['uniform', Number.NaN, { uniform: -1 }, { uniform: Number.POSITIVE_INFINITY }, {}, null])(
    'refuses %o',
    (initializer) => {
      expect(() => new UGRNNCell(2, { initializer: initializer as never })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^ERR_INVALID_OPTION(_TYPE)?$/) }),
      )
    },
  )
})

describe('scopes', () => {
  it('join names, of which either may be empty', () => {
    expect([scopedName('rnn', 'kernel'), scopedName('', 'kernel')]).toEqual(['rnn/kernel', 'kernel'])
    expect([joinScopes('a', 'b'), joinScopes('a', ''), joinScopes('', 'b')]).toEqual(['a/b', 'a', 'b'])
    expect(() => scopedName(undefined as never, 'kernel')).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it('hold the names below them, not those with the same beginning', () => {
    const tensor = { data: new Float32Array(1), shape: [1] }
    const variables = new Map([
      ['cell_1/kernel', tensor],
      ['cell_10/kernel', tensor],
      ['cell_1', tensor],
      ['cell_1/gates/kernel', tensor],
    ])
    const found = inScope(variables, 'cell_1')
    expect([...found.keys()]).toEqual(['kernel', 'gates/kernel'])
    expect(found.get('kernel')).toBe(tensor)
    expect([...inScope(variables, '').keys()]).toEqual([...variables.keys()])
  })
})

describe('checkCellOptions', () => {
  it.each<[string, () => unknown, string]>([
    ['no units', () => new LSTMCell(0), 'ERR_INVALID_OPTION'],
    ['half a unit', () => new GRUBlockCell(1.5), 'ERR_INVALID_OPTION'],
    ['a type of integers', () => new UGRNNCell(2, { dtype: 'int32' as never }), 'ERR_INVALID_OPTION'],
    ['a name that is not a text', () => new UGRNNCell(2, { name: 3 as never }), 'ERR_INVALID_OPTION_TYPE'],
    ['a clip of 0', () => new LSTMCell(2, { cellClip: 0 }), 'ERR_INVALID_OPTION'],
    ['an activation of no name here', () => new LSTMCell(2, { activation: 'softmax' as never }), 'ERR_INVALID_OPTION'],
    ['a parameter of tanh', () => new LSTMCell(2, { activation: { name: 'tanh', alpha: 2 } }), 'ERR_INVALID_OPTION'],
    ['β of elu', () => new LSTMCell(2, { activation: { name: 'elu', beta: 2 } }), 'ERR_INVALID_OPTION'],
    ['a projection of 0', () => new LSTMCell(2, { numProj: 0 }), 'ERR_INVALID_OPTION'],
  ])('refuses %s', (_, build, code) => {
    expect(build).toThrow(coded(code))
  })

  it('takes null for no clip and no projection', () => {
    const cell = new LSTMCell(2, { cellClip: null, numProj: null, projClip: null })
    expect(cell.stateSize).toEqual({ c: 2, h: 2 })
  })
})
