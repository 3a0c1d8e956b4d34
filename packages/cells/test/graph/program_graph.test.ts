import { describe, expect, it, test } from 'vitest'
import type { FloatTensor } from '../../src/cell/float_tensor.js'
import { UGRNNCell } from '../../src/index.js'
import { dot, expectClose, expectGradient, float64 } from '../cell_checks.js'
import {
  appliedOnHost,
  definition,
  GRAPH_OPERATIONS,
  type GraphOperation,
  hostGradients,
  TIME_GATE,
  tensorsOf,
} from './graph_operations.js'

describe.each(Object.entries({ ...GRAPH_OPERATIONS, timeGate: TIME_GATE }))('ProgramGraph: %s', (name, operation) => {
  const operands = tensorsOf(operation.operands, 0)
  const variables = tensorsOf(operation.variables ?? {}, 40)

  test('has the values of its definition and changes no operand', () => {
    const before = structuredClone([...operands, ...variables])
    const { result } = appliedOnHost(operation, operands, variables)
    expectClose(result.data, definition(operation, new Map([...operands, ...variables]), result.shape), 1e-14, name)
    expect([...operands, ...variables]).toEqual(before)
  })

  test('has the same values in inference', () => {
    const trained = appliedOnHost(operation, operands, variables).result
    expect(appliedOnHost(operation, operands, variables, false).result).toEqual(trained)
  })

  // The gradient of the gate with respect to its period is TensorFlow's, which is not the derivative.
  const derived = [...operands, ...variables].filter(([each]) => each !== 'period')
  test.each(derived)('has the gradient of its values by %s', (each, tensor) => {
    const { weights, gradients } = hostGradients(operation, operands, variables)
    const loss = () => dot(appliedOnHost(operation, operands, variables).result, weights)
    expectGradient(tensor, gradients.get(each) as FloatTensor, loss, `${name} by ${each}`)
  })
})

describe('ProgramGraph', () => {
  const none = new Map<string, FloatTensor>()

  it('passes the gradient through the bound of a straight-through clip', () => {
    const apply: GraphOperation['apply'] = (graph, { x }) => graph.clip(x, 0.5, 'straight_through')
    const operands = new Map([['x', float64([-2, 0.1, 2], [1, 3])]])
    const { result, step } = appliedOnHost({ apply } as GraphOperation, operands, none)
    expect([...result.data]).toEqual([-0.5, 0.1, 0.5])
    expect([...step.backward(float64([1, 2, 3], [1, 3]), [], none).input.data]).toEqual([1, 2, 3])
  })

  it('has no gradient for the ratio of a gate that does not train it', () => {
    const variables = tensorsOf({ period: [2], phase: [2], ratio: [2] }, 40)
    const names = { period: 'period', phase: 'phase', ratioOn: 'ratio' }
    const apply: GraphOperation['apply'] = (graph, { time }) => graph.timeGate(time, names, 0.25, false)
    const { gradients } = hostGradients(
      { apply } as GraphOperation,
      new Map([['time', float64([0.1, 0.2], [2, 1])]]),
      variables,
    )
    expect([...(gradients.get('ratio') as FloatTensor).data]).toEqual([0, 0])
    expect((gradients.get('phase') as FloatTensor).data.some((value) => value !== 0)).toBe(true)
  })

  it('names the variable that a cell does not have', () => {
    const apply: GraphOperation['apply'] = (graph, { x }) => graph.linear([x], 'kernel')
    const operands = new Map([['x', float64([1], [1, 1])]])
    expect(() => appliedOnHost({ apply } as GraphOperation, operands, none)).toThrow(/kernel/)
  })

  it('adds the gradients of an inner cell below its scope alone', () => {
    const cell = new UGRNNCell(2, { dtype: 'float64' })
    cell.build(2, { seed: 3 })
    const inner = [...cell.variables].map(([name, tensor]) => [`inner/${name}`, tensor] as const)
    const other = ['inner_2/kernel', float64(new Float64Array(4), [2, 2])] as const
    const operands = new Map([1, 2].map((k) => [`x${k}`, float64([0.1 * k, 0.3, -0.2, 0.5 * k], [2, 2])] as const))
    const apply: GraphOperation['apply'] = (graph, { x1, x2 }) => graph.innerStep(cell as never, 'inner', x1, x2).output
    const { gradients } = hostGradients({ apply } as GraphOperation, operands, new Map([...inner, other]))
    const isReached = (name: string) => (gradients.get(name) as FloatTensor).data.some((each) => each !== 0)
    for (const [name] of inner) expect(isReached(name), name).toBe(true)
    expect(isReached(other[0])).toBe(false)
    expect(isReached('x1') && isReached('x2')).toBe(true)
  })
})
