import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { CellVariables, type InitialElement, type VariableSpec } from '../../src/cell/cell_variables.js'
import { checkpointVariables, GLSTMCell, LSTMCell, UGRNNCell } from '../../src/index.js'
import { float32, float64 } from '../cell_checks.js'

/** A kernel [I+2,3], a bias of 0.5, and a scale that is drawn. */
class Own extends CellVariables {
  readonly drawn: InitialElement[] = []

  constructor(dtype?: 'float32' | 'float64') {
    super('own', dtype)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return [
      { name: 'bias', shape: [3], initializer: 0.5 },
      { name: 'kernel', shape: [inputSize + 2, 3], initializer: 'glorot_uniform' },
      {
        name: 'scale',
        shape: [2],
        initializer: (element) => {
          this.drawn.push(element)
          return element.element + 10 * (element.made.get('bias')?.data[0] ?? 0)
        },
      },
    ]
  }
}

const zeros = (...shape: number[]) => float32(new Float32Array(elementCount(shape)), shape)

describe('CellVariables.build', () => {
  it('makes the variables in their order, by their initializers', () => {
    const own = new Own()
    expect([own.inputSize, own.variables.size]).toEqual([undefined, 0])
    own.build(4)
    expect([...own.variables.keys()]).toEqual(['bias', 'kernel', 'scale'])
    expect([...own.variables.get('bias')!.data]).toEqual([0.5, 0.5, 0.5])
    expect([...own.variables.get('scale')!.data]).toEqual([5, 6])
    expect(own.drawn.map(({ element }) => element)).toEqual([0, 1])
  })

  it("draws kernels within Glorot's bound, and fills it", () => {
    const own = new Own('float64')
    own.build(400)
    const limit = Math.sqrt(6 / (402 + 3))
    const { data } = own.variables.get('kernel')!
    const [least, most] = [Math.min(...data), Math.max(...data)]
    expect(least).toBeGreaterThanOrEqual(-limit)
    expect(most).toBeLessThan(limit)
    // Among 1206 draws, one is in each outer hundredth with a probability of 1 - 2·10^-3.
    expect([least < -0.98 * limit, most > 0.98 * limit]).toEqual([true, true])
    const mean = Array.from(data).reduce((sum, value) => sum + value, 0) / data.length
    // Its standard deviation is limit/√(3·1206).
    expect(Math.abs(mean)).toBeLessThan((4 * limit) / Math.sqrt(3 * data.length))
  })

  it('draws the same values from one seed, and others from another', () => {
    const kernelOf = (seed?: number) => {
      const own = new Own()
      own.build(4, seed === undefined ? {} : { seed })
      return [...own.variables.get('kernel')!.data]
    }
    expect(kernelOf(3)).toEqual(kernelOf(3))
    expect(kernelOf()).toEqual(kernelOf(0))
    expect(kernelOf(3)).not.toEqual(kernelOf(4))
  })

  it.each<[unknown, unknown, string]>([
    [0, {}, 'ERR_INVALID_OPTION'],
    [1.5, {}, 'ERR_INVALID_OPTION'],
    ['3', {}, 'ERR_INVALID_ARGUMENT'],
    [3, { seed: -1 }, 'ERR_INVALID_OPTION'],
    [3, { Seed: 1 }, 'ERR_UNKNOWN_OPTION'],
  ])('refuses %o with %o', (inputSize, options, code) => {
    const own = new Own()
    expect(() => own.build(inputSize as number, options as object)).toThrow(
      code === 'ERR_INVALID_ARGUMENT' ? TypeError : coded(code),
    )
    expect(own.inputSize).toBeUndefined()
  })
})

describe('CellVariables.setVariables', () => {
  it('copies the values, and builds the others', () => {
    const own = new Own()
    const kernel = zeros(6, 3)
    own.setVariables({ kernel })
    kernel.data.fill(9)
    expect(own.inputSize).toBe(4)
    expect(own.variables.get('kernel')).toEqual(zeros(6, 3))
    expect([...own.variables.get('bias')!.data]).toEqual([0.5, 0.5, 0.5])
  })

  it('leaves the arrays of its caller and of earlier readers as they are', () => {
    const own = new Own()
    own.build(4)
    const bias = own.variables.get('bias')!
    own.setVariables({ bias: float32([1, 2, 3], [3]) })
    expect([...bias.data]).toEqual([0.5, 0.5, 0.5])
    expect([...own.variables.get('bias')!.data]).toEqual([1, 2, 3])
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown name', { kernel: zeros(6, 3), Bias: zeros(3) }, 'ERR_UNKNOWN_OPTION'],
    ['a kernel of too few rows', { kernel: zeros(2, 3) }, 'ERR_SHAPE'],
    ['a kernel of other columns', { kernel: zeros(6, 4) }, 'ERR_SHAPE'],
    ['no kernel before the cell is built', { bias: zeros(3) }, 'ERR_SHAPE'],
    ['a bias of another length beside a kernel', { kernel: zeros(6, 3), bias: zeros(4) }, 'ERR_SHAPE'],
    ['another dtype', { kernel: float64(new Float64Array(18), [6, 3]) }, 'ERR_DTYPE'],
    ['a value that is not a tensor', { kernel: [1, 2, 3] }, 'ERR_NOT_A_TENSOR'],
  ])('refuses %s, and builds nothing', (_, values, code) => {
    const own = new Own()
    expect(() => own.setVariables(values as never)).toThrow(coded(code))
    expect([own.inputSize, own.variables.size]).toEqual([undefined, 0])
  })

  it('finds the input size of a kernel that has a group of the columns', () => {
    const cell = new GLSTMCell(4, { numberOfGroups: 2 })
    // (I + 4)/2 rows of 6 columns in the input.
    cell.setVariables({ 'group0/kernel': zeros(5, 8) })
    expect(cell.inputSize).toBe(6)
    expect(() => new GLSTMCell(4, { numberOfGroups: 2 }).setVariables({ 'group0/kernel': zeros(2, 8) })).toThrow(
      coded('ERR_SHAPE'),
    )
  })

  it('does not disturb the tape of an earlier call', () => {
    const make = () => {
      const cell = new UGRNNCell(2)
      cell.build(2, { seed: 1 })
      return { cell, ...cell.call(float32([1, -1], [1, 2]), cell.zeroState(1)) }
    }
    const [changed, left] = [make(), make()]
    changed.cell.setVariables({ kernel: zeros(4, 4) })
    const output = float32([1, 1], [1, 2])
    expect(changed.tape.gradients({ output })).toEqual(left.tape.gradients({ output }))
  })
})

describe('checkpointVariables', () => {
  it("has TensorFlow's keys, reads copies and assigns checked values", async () => {
    const cell = new LSTMCell(2)
    cell.build(1, { seed: 1 })
    const variables = checkpointVariables(cell)
    expect(variables.map(({ name, value }) => [name, value.shape, value.dtype])).toEqual([
      ['rnn/lstm_cell/kernel', [3, 8], 'float32'],
      ['rnn/lstm_cell/bias', [8], 'float32'],
    ])
    const [kernel, bias] = variables
    const read = await kernel.value.read()
    read.data.fill(9)
    expect(cell.variables.get('kernel')!.data[0]).not.toBe(9)
    bias.assign(float32([1, 2, 3, 4, 5, 6, 7, 8], [8]))
    expect([...(await bias.value.read()).data]).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(() => bias.assign(zeros(7))).toThrow(coded('ERR_SHAPE'))
    expect(() => kernel.assign(float64(new Float64Array(24), [3, 8]))).toThrow(coded('ERR_DTYPE'))
  })

  it.each([
    ['', 'lstm_cell/kernel'],
    ['bidirectional_rnn/fw', 'bidirectional_rnn/fw/lstm_cell/kernel'],
  ])('puts the keys in the scope %o', (scope, name) => {
    const cell = new LSTMCell(2)
    cell.build(1)
    expect(checkpointVariables(cell, scope)[0].name).toBe(name)
  })

  it('refuses a value that is not a cell, and a scope that is not a text', () => {
    expect(() => checkpointVariables({} as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(() => checkpointVariables(new LSTMCell(2), 3 as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})
