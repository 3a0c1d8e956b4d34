import { describe, expect, it, test } from 'vitest'
import { CellRun } from '../src/cell_run.js'
import type { FloatTensor } from '../src/float_tensor.js'
import { HostGraph } from '../src/host_graph.js'
import { UGRNNCell } from '../src/index.js'
import type { HostValue } from '../src/step_tape.js'
import { dot, expectClose, expectGradient, float64 } from './cell_checks.js'
import {
  appliedOnHost,
  definition,
  GRAPH_OPERATIONS,
  hostGradients,
  KERNELS,
  TIME_GATE,
  tensorsOf,
  zerosLike,
} from './graph_operations.js'

describe.each(Object.entries({ ...GRAPH_OPERATIONS, timeGate: TIME_GATE }))('HostGraph: %s', (name, operation) => {
  const operands = tensorsOf(operation.operands, 0)
  const variables = tensorsOf(operation.variables ?? {}, 40)

  test('has the values of its definition and changes no operand', () => {
    const before = structuredClone([...operands, ...variables])
    const { result } = appliedOnHost(operation, operands, variables)
    expectClose(result.data, definition(operation, new Map([...operands, ...variables]), result.shape), 1e-14, name)
    expect([...operands, ...variables]).toEqual(before)
  })

  test('keeps nothing for a backward in inference', () => {
    const { graph, result, values } = appliedOnHost(operation, operands, variables, false)
    result.gradient.fill(1)
    graph.tape.backward(zerosLike(variables))
    expect(Object.values(values).some((value) => value.hasGradient && value !== result)).toBe(false)
  })

  // The gradient of the gate with respect to its period is TensorFlow's, which is not the derivative.
  const derived = [...operands, ...variables].filter(([each]) => each !== 'period')
  test.each(derived)('has the gradient of its values by %s', (each, tensor) => {
    const { weights, gradients } = hostGradients(operation, operands, variables)
    const loss = () => dot(appliedOnHost(operation, operands, variables).result, weights)
    expectGradient(tensor, gradients.get(each) as FloatTensor, loss, `${name} by ${each}`)
  })
})

describe('HostGraph', () => {
  const graphOf = (variables: ReadonlyMap<string, FloatTensor>) =>
    new HostGraph(new CellRun('float64', true, KERNELS), variables)

  it('passes the gradient through the bound of a straight-through clip', () => {
    const graph = graphOf(new Map())
    const x = graph.tape.input(float64([-2, 0.1, 2], [1, 3]))
    const y = graph.clip(x, 0.5, 'straight_through')
    expect([...y.data]).toEqual([-0.5, 0.1, 0.5])
    y.gradient.set([1, 2, 3])
    graph.tape.backward(new Map())
    expect([...x.gradient]).toEqual([1, 2, 3])
  })

  it('has no gradient for the ratio of a gate that does not train it', () => {
    const variables = tensorsOf({ period: [2], phase: [2], ratio: [2] }, 40)
    const graph = graphOf(variables)
    const time = graph.tape.input(float64([0.1, 0.2], [2, 1]))
    const names = { period: 'period', phase: 'phase', ratioOn: 'ratio' }
    graph.timeGate(time, names, 0.25, false).gradient.fill(1)
    const gradients = zerosLike(variables)
    graph.tape.backward(gradients)
    expect([...(gradients.get('ratio') as FloatTensor).data]).toEqual([0, 0])
    expect((gradients.get('phase') as FloatTensor).data.some((value) => value !== 0)).toBe(true)
  })

  it('names the variable that a cell does not have', () => {
    const graph = graphOf(new Map())
    const x = graph.tape.input(float64([1], [1, 1]))
    expect(() => graph.linear([x], 'kernel')).toThrow(/kernel/)
  })

  it('adds the gradients of an inner cell below its scope alone', () => {
    const cell = new UGRNNCell(2, { dtype: 'float64' })
    cell.build(2, { seed: 3 })
    const inner = [...cell.variables].map(([name, tensor]) => [`inner/${name}`, tensor] as const)
    const other = ['inner_2/kernel', float64(new Float64Array(4), [2, 2])] as const
    const variables = new Map([...inner, other])
    const graph = graphOf(variables)
    const [x, h] = [1, 2].map((k) => graph.tape.input(float64([0.1 * k, 0.3, -0.2, 0.5 * k], [2, 2])))
    const { output, state } = graph.innerStep(cell as never, 'inner', x, h)
    expect(output.data).toEqual((state as HostValue).data)
    output.gradient.fill(1)
    const gradients = zerosLike(variables)
    graph.tape.backward(gradients)
    graph.run.finishGradients()
    for (const [name] of inner) expect((gradients.get(name) as FloatTensor).data.some((each) => each !== 0)).toBe(true)
    expect([...(gradients.get(other[0]) as FloatTensor).data]).toEqual([0, 0, 0, 0])
    expect(x.hasGradient && h.hasGradient).toBe(true)
  })
})
